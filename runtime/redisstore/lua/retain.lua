-- Ends a lease and leaves the lock to nobody for a while (MinHold). One that was broken goes on at once.
--
-- KEYS  lock, queue, waiters, floor
-- ARGV  1 lease id, 2 for how long (ms), 3 retention (ms)
-- Returns 1 released, 0 not the owner: nothing was changed, 3 as release.lua
local lock = redis.call('GET', KEYS[1])
if not mine(lock, ARGV[1]) then
  return lock and string.sub(lock, 1, 1) == '*' and 3 or 0
end
if broken(lock) then
  return release(KEYS[1], KEYS[2], KEYS[3], KEYS[4], tonumber(ARGV[3]), now()) and 3 or 1
end
touch(KEYS[1])
local _, epoch, since = parse(lock)
redis.call('SET', KEYS[1], table.concat({ '-', epoch, since, ARGV[2], '-', '' }, ' '), 'PX', ARGV[2])
redis.call('SET', KEYS[4], epoch, 'PX', int(ARGV[2] + ARGV[3]))
-- The first waiter's timer is set for the end of the lease; let it ask for the new end.
poke(KEYS[2], KEYS[3], 0)
return 1
