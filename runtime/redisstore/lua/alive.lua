-- Shows that a process still waits for a lock.
--
-- KEYS  queue, waiters
-- ARGV  1 channel, 2 liveness (ms)
-- Returns 1, or 0 if there is no queue
if redis.call('EXISTS', KEYS[1]) == 0 then
  return 0
end
redis.call('HSET', KEYS[2], '@' .. ARGV[1], int(math.floor(now() / 1000) + ARGV[2]))
keepQueue(KEYS[1], KEYS[2], tonumber(ARGV[2]))
return 1
