-- Makes the owner of a lock a reader of it, without a moment in between: before all who wait. It may be repeated.
--
-- KEYS  lock, queue, waiters, floor, holders, held
-- ARGV  1 lease id, 2 "<channel> <node>", 3 retention (ms), 4 with a new epoch (1 or 0)
-- Returns {1 done or 0 it does not hold the lock or 2 it was broken, the epoch or 0}
-- shared.lua is inserted here

local K, t, id, retention = keysOf(KEYS), now(), ARGV[1], tonumber(ARGV[3])
local lock, holder = redis.call('GET', K.lock), ARGV[1] .. ' ' .. ARGV[2]
local kind, generation, allBroken = sharedBy(lock)
if kind == 'r' then
  local till, isBroken = share(K.holders, t, holder)
  if not till then
    return { 0, 0 }
  end
  return { (allBroken or isBroken) and 2 or 1, tonumber(generation) }
end
if not mine(lock, id) then
  return { 0, 0 }
end
if broken(lock) then
  return { 2, 0 }
end
local _, epoch, _, _, _, node = parse(lock)
local left = math.max(redis.call('PTTL', K.lock), 1)
epoch = ARGV[4] == '1' and issue(K, retention, t, left) or tonumber(epoch)
local s = {}
begin(K, t, s, 'r', epoch, int(left), node, holder)
settle(K, t, 'r')
admit(K, retention, t, s, ends(K, t))
return { 1, epoch }
