-- Ends a lease: hands the lock to the first live waiter, or frees it, or leaves it to nobody for a while (MinHold).
--
-- KEYS  lock, queue, waiters, floor
-- ARGV  1 lease id, 2 keep (ms; 0: free at once), 3 retention (ms)
-- Returns 1 released, 0 not the owner: nothing was changed
local lock = redis.call('GET', KEYS[1])
if not lock or string.sub(lock, 1, #ARGV[1] + 1) ~= ARGV[1] .. ' ' then
  return 0
end
if ARGV[2] == '0' and redis.call('EXISTS', KEYS[2]) == 0 then
  redis.call('DEL', KEYS[1])
  return 1
end
-- lib.lua is inserted here

if ARGV[2] ~= '0' then
  local _, epoch, since = parse(lock)
  redis.call('SET', KEYS[1], table.concat({ '-', epoch, since, ARGV[2], '-', '' }, ' '), 'PX', ARGV[2])
  redis.call('SET', KEYS[4], epoch, 'PX', int(ARGV[2] + ARGV[3]))
  -- The first waiter's timer is set for the end of the lease; let it ask for the new end.
  local first = redis.call('ZRANGE', KEYS[2], 0, 0)[1]
  local waiter = first and redis.call('HGET', KEYS[3], first)
  if waiter then
    redis.call('PUBLISH', string.match(waiter, '^%d+ (%S+) '), 'poke ' .. first)
  end
  return 1
end
redis.call('DEL', KEYS[1])
handOn(KEYS[1], KEYS[2], KEYS[3], KEYS[4], tonumber(ARGV[3]), now())
return 1
