-- Ends a lease: hands the lock to the first live waiter, or frees it, or leaves it to nobody for a while (MinHold).
--
-- KEYS  lock, queue, waiters, floor
-- ARGV  1 lease id, 2 keep (ms; 0: free at once), 3 retention (ms)
-- Returns 1 released, 0 not the owner: nothing was changed
local id, keep, retention = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])

local lock = redis.call('GET', KEYS[1])
if not mine(lock, id) then
  return 0
end
if keep > 0 then
  local _, epoch, since = parse(lock)
  redis.call('SET', KEYS[1], table.concat({ '-', epoch, since, ARGV[2], '-', '' }, ' '), 'PX', ARGV[2])
  -- The first waiter's timer is set for the end of the lease; let it ask for the new end.
  local first = redis.call('ZRANGE', KEYS[2], 0, 0)[1]
  local waiter = first and redis.call('HGET', KEYS[3], first)
  if waiter then
    redis.call('PUBLISH', string.match(waiter, '^%d+ (%S+) '), 'poke ' .. first)
  end
  return 1
end
redis.call('DEL', KEYS[1])
if redis.call('EXISTS', KEYS[2]) == 1 then
  handOn(KEYS[1], KEYS[2], KEYS[3], KEYS[4], retention, now())
end
return 1
