-- Says whether leases of any kind still have their locks, or shares of them.
--
-- KEYS  lock 1, holders 1, lock 2, …
-- ARGV  1 "<channel> <node>", then each lease's id
-- Returns for each lock: 1 it does, 0 it does not, 2 it was broken
touch(KEYS[1]) -- a replica refuses that; it does not know who holds the locks
-- shared.lua is inserted here

local t, held = now(), {}
for i = 1, #KEYS / 2 do
  local lock, id = redis.call('GET', KEYS[2 * i - 1]), ARGV[1 + i]
  local kind, _, isBroken = sharedBy(lock)
  local has = alone(lock, id)
  if has then
    isBroken = broken(lock)
  elseif kind then
    local till, itsBroken = share(KEYS[2 * i], t, id .. ' ' .. ARGV[1])
    has, isBroken = till, isBroken or itsBroken
  end
  held[i] = has and (isBroken and 2 or 1) or 0
end
return held
