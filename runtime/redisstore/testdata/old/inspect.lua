-- Looks at one lock.
--
-- KEYS  lock, queue, waiters
-- ARGV  1 how many waiters at most
-- Returns {} nobody holds it, or {id, epoch, since (µs), remaining (ms), node, waiter 1, its entry, waiter 2, …}
local lock = redis.call('GET', KEYS[1])
if not lock then
  return {}
end
local id, epoch, since, _, _, node = parse(lock)
local info = { id, epoch, since, int(redis.call('PTTL', KEYS[1])), node }
for _, waiter in ipairs(redis.call('ZRANGE', KEYS[2], 0, ARGV[1] - 1)) do
  info[#info + 1] = waiter
  info[#info + 1] = redis.call('HGET', KEYS[3], waiter) or ''
end
return info
