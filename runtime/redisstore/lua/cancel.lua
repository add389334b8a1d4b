-- Takes a lease that nobody wants any more out of the queue; if it was granted meanwhile, the lock goes on to the next.
--
-- KEYS  lock, queue, waiters, floor
-- ARGV  1 lease id, 2 retention (ms)
-- Returns 1 it owned the lock, 0 it did not
local id = ARGV[1]

redis.call('ZREM', KEYS[2], id)
redis.call('HDEL', KEYS[3], id)
if not mine(redis.call('GET', KEYS[1]), id) then
  return 0
end
release(KEYS[1], KEYS[2], KEYS[3], KEYS[4], tonumber(ARGV[2]), now())
return 1
