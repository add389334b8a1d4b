-- Ends a lease of any kind, and admits those for whom that makes room; or leaves its slot, or the lock, to nobody for a
-- while (MinHold). What was broken goes on at once.
--
-- KEYS  lock, queue, waiters, floor, holders, held
-- ARGV  1 retention (ms), 2 "<channel> <node>", 3 for how long nobody gets it (ms; 0: not at all), 4 lease id
-- Returns 1 released, 0 it has neither the lock nor a share: nothing was changed
local holder = ARGV[4] .. ' ' .. ARGV[2]
-- What happens nearly always, in as few calls as possible: readers have the lock, and nobody waits.
if ARGV[3] == '0' and redis.call('EXISTS', KEYS[2]) == 0 then
  local lock = redis.call('GET', KEYS[1])
  if lock and string.sub(lock, 1, 3) == '*r ' then
    local last = redis.call('ZRANGE', KEYS[5], -1, -1)[1]
    if redis.call('ZREM', KEYS[5], holder) == 0 then
      return 0
    end
    if last ~= holder then
      return 1 -- somebody else's share is what the lock ends with
    end
    last = redis.call('ZRANGE', KEYS[5], -1, -1, 'WITHSCORES')
    local time = redis.call('TIME')
    local left = last[1] and math.floor(last[2]) - time[1] * 1000 - math.floor(time[2] / 1000) or 0
    if left <= 0 then
      redis.call('DEL', KEYS[1], KEYS[5])
      return 1
    end
    redis.call('PEXPIRE', KEYS[1], left)
    redis.call('PEXPIRE', KEYS[5], left)
    return 1
  end
end
-- lib.lua is inserted here
-- shared.lua is inserted here

local K, t, retention, keep, id = keysOf(KEYS), now(), tonumber(ARGV[1]), tonumber(ARGV[3]), ARGV[4]
local lock, s, before = redis.call('GET', K.lock), look(K, t), ends(K, t)

if alone(lock, id) then
  if keep > 0 and not broken(lock) then
    local _, epoch, since = parse(lock)
    redis.call('SET', K.lock, table.concat({ '-', epoch, since, int(keep), '-', '' }, ' '), 'PX', int(keep))
    redis.call('SET', K.floor, epoch, 'PX', int(keep + retention))
    poke(K.queue, K.waiters, 0)
    return 1
  end
  s.alone, s.vacant = false, true
  admit(K, retention, t, s, before)
  return 1
end

local _, isBroken = nil, nil
if s.kind then
  _, isBroken = share(K.holders, t, holder)
end
if keep > 0 and s.kind == 'p' and not s.broken and not isBroken and share(K.holders, t, holder) then
  local entry, kept = redis.call('HGET', K.held, holder), '-' .. id .. ' - '
  redis.call('HSET', K.held, kept, entry, 's' .. string.match(entry, '%d+$'), kept)
  redis.call('HDEL', K.held, holder)
  redis.call('ZADD', K.holders, int(math.floor(t / 1000) + keep), kept)
  redis.call('ZREM', K.holders, holder)
  settle(K, t, s.kind)
elseif not leave(K, t, s, holder) then
  return 0
end
admit(K, retention, t, s, before)
return 1
