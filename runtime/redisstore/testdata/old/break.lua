-- Ends somebody else's lease: marks it, so that it is not renewed, and tells its process, which ends it and gives it
-- back. A lock that MinHold keeps for nobody goes on at once, and so does any by force.
--
-- KEYS  lock, queue, waiters, floor
-- ARGV  1 lease id ("-": MinHold keeps the lock), 2 its epoch, 3 reason, 4 retention (ms), 5 by force (1 or 0)
-- Returns 1 broken, 0 that lease does not hold the lock: nothing was changed
local retention = tonumber(ARGV[4])

local lock = redis.call('GET', KEYS[1])
if not lock then
  return 0
end
local id, epoch, since, _, channel, node = parse(lock)
if id ~= ARGV[1] or epoch ~= ARGV[2] then
  return 0
end
local left = redis.call('PTTL', KEYS[1])
touch(KEYS[1])
-- Move on from the broken epoch even if nobody acquires the lock again soon.
redis.call('SET', KEYS[4], int(epoch + 1), 'PX', int(retention + left))
redis.call('SET', KEYS[1], table.concat({ id, epoch, since, '0', channel, node }, ' '), 'KEEPTTL')
if id ~= '-' then
  publish(channel, table.concat({ 'lost', id, #KEYS[1], KEYS[1], ARGV[3] }, ' '))
end
if id == '-' or ARGV[5] == '1' then
  release(KEYS[1], KEYS[2], KEYS[3], KEYS[4], retention, now())
end
return 1
