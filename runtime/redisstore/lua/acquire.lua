-- Takes the lock for a lease, or queues it. Also the waiter's poke: it may be repeated at any time.
--
-- KEYS  lock, queue, waiters, floor
-- ARGV  1 lease id, 2 ttl (ms), 3 channel, 4 node, 5 liveness (ms; 0: do not queue), 6 retention (ms)
-- Returns {1, epoch, since (µs), now (µs)}              the lease owns the lock, since now or since an earlier call
--         {0, remaining (ms), now (µs), holder's node}  somebody else does; the lease is queued if liveness is not 0
local id, ttl, channel, node = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local liveness, retention = tonumber(ARGV[5]), tonumber(ARGV[6])
local t = now()

local lock = redis.call('GET', KEYS[1])
if not lock and redis.call('EXISTS', KEYS[2]) == 1 then
  -- The last lease ran out. Those who wait come first; that may be this one.
  handOn(KEYS[1], KEYS[2], KEYS[3], KEYS[4], retention, t)
  lock = redis.call('GET', KEYS[1])
end
if not lock then
  return { 1, take(KEYS[1], KEYS[4], retention, t, id, ttl, channel, node), t, t }
end
local owner, epoch, since, _, _, holder = parse(lock)
if owner == id then
  return { 1, tonumber(epoch), tonumber(since), t }
end
if liveness > 0 then
  if not redis.call('ZSCORE', KEYS[2], id) then
    redis.call('ZADD', KEYS[2], redis.call('HINCRBY', KEYS[3], '#', 1), id)
    redis.call('HSET', KEYS[3], id, table.concat({ ttl, channel, node }, ' '))
  end
  redis.call('HSET', KEYS[3], '@' .. channel, int(math.floor(t / 1000) + liveness))
  redis.call('PEXPIRE', KEYS[2], 2 * liveness)
  redis.call('PEXPIRE', KEYS[3], 2 * liveness)
end
return { 0, redis.call('PTTL', KEYS[1]), t, holder }
