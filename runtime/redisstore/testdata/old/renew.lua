-- Lets leases last their TTL again. It never shortens one, so that a call which was delayed on a dying connection
-- cannot undo a later, longer one.
--
-- KEYS  lock 1, floor 1, lock 2, floor 2, …
-- ARGV  1 retention (ms), then for each lock: lease id, ttl (ms)
-- Returns for each lock: 1 renewed, 0 not the owner, 2 the owner, but broken
local retention, t = tonumber(ARGV[1]), now()
local renewed = {}
for i = 1, #KEYS / 2 do
  local lockKey, floorKey, id, ttl = KEYS[2 * i - 1], KEYS[2 * i], ARGV[2 * i], tonumber(ARGV[2 * i + 1])
  local lock = redis.call('GET', lockKey)
  if not mine(lock, id) then
    renewed[i] = 0
  elseif broken(lock) then
    renewed[i] = 2
  else
    if redis.call('PTTL', lockKey) < ttl then
      redis.call('PEXPIRE', lockKey, ttl)
    end
    -- The floor was set when the lease began; it must outlive one that is long or has become longer.
    local _, epoch, since, granted = parse(lock)
    if (t - since) / 1000 > retention / 2 or ttl > tonumber(granted) then
      if redis.call('PEXPIRE', floorKey, int(retention + ttl)) == 0 then
        redis.pcall('SET', floorKey, epoch, 'PX', int(retention + ttl))
      end
    end
    renewed[i] = 1
  end
end
return renewed
