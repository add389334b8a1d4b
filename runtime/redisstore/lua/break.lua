-- Takes the lock from its holder, tells the holder's process, and hands the lock to the first live waiter.
--
-- KEYS  lock, queue, waiters, floor
-- ARGV  1 reason, 2 retention (ms)
-- Returns 1 broken, 0 nobody held it
local retention = tonumber(ARGV[2])

local lock = redis.call('GET', KEYS[1])
if not lock then
  return 0
end
local id, epoch, _, ttl, channel = parse(lock)
-- Move on from the broken epoch even if nobody acquires the lock again soon.
redis.call('SET', KEYS[4], int(epoch + 1), 'PX', int(retention + ttl))
if id ~= '-' then
  redis.call('PUBLISH', channel, 'lost ' .. id .. ' ' .. ARGV[1])
end
release(KEYS[1], KEYS[2], KEYS[3], KEYS[4], retention, now())
return 1
