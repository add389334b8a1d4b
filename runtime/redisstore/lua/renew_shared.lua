-- Lets shares last their TTL again. It never shortens one, and never touches another's.
--
-- KEYS  lock 1, floor 1, holders 1, held 1, lock 2, …
-- ARGV  1 retention (ms), 2 "<channel> <node>", then for each lock: lease id, ttl (ms)
-- Returns for each lock: 1 renewed, 0 it has neither the lock nor a share, 2 it does, but was broken
local retention, t = tonumber(ARGV[1]), now()
-- shared.lua is inserted here

local function renew(K, id, ttl)
  local lock = redis.call('GET', K.lock)
  if alone(lock, id) then
    if broken(lock) then
      return 2
    end
    if redis.call('PTTL', K.lock) < ttl then
      redis.call('PEXPIRE', K.lock, ttl)
    end
    local _, epoch = parse(lock)
    keepFloor(K.floor, retention, t, ttl, epoch)
    return 1
  end
  local kind, generation, allBroken = sharedBy(lock)
  local holder, till, isBroken = id .. ' ' .. ARGV[2], nil, nil
  if kind then
    till, isBroken = share(K.holders, t, holder)
  end
  if not till then
    return 0
  end
  if allBroken or isBroken then
    return 2
  end
  local again = math.floor(t / 1000) + ttl
  if till < again then
    redis.call('ZADD', K.holders, int(again), holder)
  end
  if redis.call('PTTL', K.lock) < ttl then
    redis.call('PEXPIRE', K.lock, ttl)
    redis.call('PEXPIRE', K.holders, ttl)
    if kind == 'p' then
      redis.call('PEXPIRE', K.held, ttl)
    end
  end
  keepFloor(K.floor, retention, t, ttl, generation)
  sweep(K, t, kind)
  return 1
end

local renewed = {}
for i = 1, #KEYS / 4 do
  local K = { lock = KEYS[4 * i - 3], floor = KEYS[4 * i - 2], holders = KEYS[4 * i - 1], held = KEYS[4 * i] }
  renewed[i] = renew(K, ARGV[2 * i + 1], tonumber(ARGV[2 * i + 2]))
end
return renewed
