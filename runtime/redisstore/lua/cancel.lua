-- Takes an exclusive lease that nobody wants any more out of the queue; if it was granted meanwhile, the lock goes on
-- to the next.
--
-- KEYS  lock, queue, waiters, floor
-- ARGV  1 lease id, 2 retention (ms)
-- Returns {1 it owned the lock or 0 it did not, now (µs)}, or
--         {3, now (µs)} where readers or permits hold the lock or come next: cancel_shared.lua has to do it
local id, t = ARGV[1], now()

local lock = redis.call('GET', KEYS[1])
if mine(lock, id) then
  return { release(KEYS[1], KEYS[2], KEYS[3], KEYS[4], tonumber(ARGV[2]), t) and 3 or 1, t }
end
if lock and string.sub(lock, 1, 1) == '*' then
  return { 3, t }
end
redis.call('HDEL', KEYS[3], id)
redis.call('ZREM', KEYS[2], id)
return { 0, t }
