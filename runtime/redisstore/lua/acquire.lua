-- Takes the lock for a lease, or queues it. Also the waiter's poke: it may be repeated at any time.
--
-- KEYS  lock, queue, waiters, floor
-- ARGV  1 lease id, 2 ttl (ms), 3 "<channel> <node>", 4 liveness (ms; 0: do not queue), 5 ttl + retention (ms)
-- Returns epoch                                         the lease owns the lock, from this moment on the server's clock
--         {1, epoch, since (µs), now (µs)}              the lease owns the lock, since then
--         {0, remaining (ms), now (µs), holder's node}  somebody else does; the lease is queued if liveness is not 0
local time = redis.call('TIME')
local t = time[1] * 1000000 + time[2]
local now = string.format('%.0f', t)
if redis.call('EXISTS', KEYS[2]) == 0 and
  redis.call('SET', KEYS[1], table.concat({ ARGV[1], now, now, ARGV[2], ARGV[3] }, ' '), 'NX', 'PX', ARGV[2]) then
  -- What happens nearly always, in as few steps as possible: free, nobody waits, the clock is ahead of the floor.
  local floor = tonumber(redis.call('SET', KEYS[4], now, 'PX', ARGV[5], 'GET') or 0)
  if floor < t then
    return t
  end
  local epoch = string.format('%.0f', floor + 1)
  redis.call('SET', KEYS[1], table.concat({ ARGV[1], epoch, now, ARGV[2], ARGV[3] }, ' '), 'PX', ARGV[2])
  redis.call('SET', KEYS[4], epoch, 'PX', ARGV[5])
  return { 1, floor + 1, t, t }
end
-- lib.lua is inserted here

local id, ttl, channelAndNode, liveness = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])
local retention = ARGV[5] - ttl

local lock = redis.call('GET', KEYS[1])
if not lock then
  -- The last lease ran out. Those who wait come first; that may be this one.
  handOn(KEYS[1], KEYS[2], KEYS[3], KEYS[4], retention, t)
  lock = redis.call('GET', KEYS[1])
end
if not lock then
  return { 1, take(KEYS[1], KEYS[4], retention, t, id, ttl, channelAndNode), t, t }
end
local owner, epoch, since, _, _, holder = parse(lock)
if owner == id then
  return { 1, tonumber(epoch), tonumber(since), t }
end
if liveness > 0 then
  if not redis.call('ZSCORE', KEYS[2], id) then
    redis.call('ZADD', KEYS[2], redis.call('HINCRBY', KEYS[3], '#', 1), id)
    redis.call('HSET', KEYS[3], id, ttl .. ' ' .. channelAndNode)
  end
  local channel = string.match(channelAndNode, '^%S+')
  redis.call('HSET', KEYS[3], '@' .. channel, int(math.floor(t / 1000) + liveness))
  keepQueue(KEYS[2], KEYS[3], liveness)
end
return { 0, redis.call('PTTL', KEYS[1]), t, holder }
