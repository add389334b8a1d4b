-- Takes a lease that nobody wants any more out of the queue; if it was granted meanwhile, the lock goes on to the next.
--
-- KEYS  lock, queue, waiters, floor
-- ARGV  1 lease id, 2 retention (ms)
-- Returns {1 it owned the lock or 0 it did not, now (µs)}
local id, t = ARGV[1], now()

if mine(redis.call('GET', KEYS[1]), id) then
  release(KEYS[1], KEYS[2], KEYS[3], KEYS[4], tonumber(ARGV[2]), t)
  return { 1, t }
end
redis.call('HDEL', KEYS[3], id)
redis.call('ZREM', KEYS[2], id)
return { 0, t }
