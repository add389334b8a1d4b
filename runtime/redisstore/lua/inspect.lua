-- Looks at one lock.
--
-- KEYS  lock, queue, waiters, holders, held
-- ARGV  1 how many waiters at most, 2 how many holders at most (-1: all)
-- Returns {} nobody holds it, or {id, epoch, since (µs), remaining (ms), node, how many holders follow,
--         holder 1, its end (ms from now), its entry in held or "", holder 2, …, waiter 1, its entry, waiter 2, …}
local lock = redis.call('GET', KEYS[1])
if not lock then
  return {}
end
local id, epoch, since, _, _, node = parse(lock)
local info = { id, epoch, since, int(redis.call('PTTL', KEYS[1])), node, 0 }
if string.sub(id, 1, 1) == '*' then
  local t = math.floor(now() / 1000)
  local holders = redis.call('ZRANGE', KEYS[4], int(t), '+inf', 'BYSCORE', 'LIMIT', 0, ARGV[2], 'WITHSCORES')
  info[6] = #holders / 2
  for i = 1, #holders, 2 do
    info[#info + 1] = holders[i]
    info[#info + 1] = int(math.floor(holders[i + 1]) - t)
    info[#info + 1] = id == '*p' and redis.call('HGET', KEYS[5], holders[i]) or ''
  end
end
for _, waiter in ipairs(redis.call('ZRANGE', KEYS[2], 0, ARGV[1] - 1)) do
  info[#info + 1] = waiter
  info[#info + 1] = redis.call('HGET', KEYS[3], waiter) or ''
end
return info
