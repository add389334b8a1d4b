-- Shows that a process still waits for a lock, and asks until when.
--
-- KEYS  queue, waiters, lock
-- ARGV  1 channel, 2 liveness (ms)
-- Returns what is left of the lease in the way (ms; 0: it is over), or -1 if there is no queue
if redis.call('EXISTS', KEYS[1]) == 0 then
  return -1
end
redis.call('HSET', KEYS[2], '@' .. ARGV[1], int(math.floor(now() / 1000) + ARGV[2]))
keepQueue(KEYS[1], KEYS[2], tonumber(ARGV[2]))
return math.max(redis.call('PTTL', KEYS[3]), 0)
