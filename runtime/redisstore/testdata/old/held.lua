-- Says whether leases still hold their locks.
--
-- KEYS  the locks
-- ARGV  each lease's id
-- Returns for each lock: 1 it does, 0 it does not, 2 it was broken
touch(KEYS[1]) -- a replica refuses that; it does not know who holds the locks
local held = {}
for i, key in ipairs(KEYS) do
  local lock = redis.call('GET', key)
  held[i] = mine(lock, ARGV[i]) and (broken(lock) and 2 or 1) or 0
end
return held
