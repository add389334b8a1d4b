-- Takes locks for leases of one process, each its own lock, or queues them. Also the waiter's poke: it may be repeated
-- at any time.
--
-- KEYS  the locks of all leases, then their queues, then their waiters, then their floors
-- ARGV  1 ttl (ms), 2 ttl + retention (ms), 3 liveness (ms; 0: do not queue), 4 "<channel> <node>",
--       then each lease's id
-- Returns for each lease, in an array if there are several:
--         epoch                                         it owns the lock, from this moment on the server's clock
--         {1, epoch, since (µs), now (µs)}              it owns the lock, since then
--         {0, remaining (ms), now (µs), holder's node}  somebody else does; it is queued if liveness is not 0
local time = redis.call('TIME')
local now = time[1] .. string.sub('00000' .. time[2], -6)
local t = tonumber(now)
local n, ttl, keep, channelAndNode = #KEYS / 4, ARGV[1], ARGV[2], ARGV[4]
local value = ' ' .. now .. ' ' .. now .. ' ' .. ttl .. ' ' .. channelAndNode
-- What happens nearly always, in as few calls as possible: free, nobody waits, the clock is ahead of the floor.
local nobodyWaits = redis.call('EXISTS', unpack(KEYS, n + 1, 2 * n)) == 0
local answers, slow = {}, false
for i = 1, n do
  local answer
  if (nobodyWaits or redis.call('EXISTS', KEYS[n + i]) == 0)
    and redis.call('SET', KEYS[i], ARGV[4 + i] .. value, 'NX', 'PX', ttl) then
    local floor = tonumber(redis.call('SET', KEYS[3 * n + i], now, 'PX', keep, 'GET') or 0)
    if floor < t then
      answer = t
    else
      local epoch = string.format('%.0f', floor + 1)
      redis.call('SET', KEYS[i], table.concat({ ARGV[4 + i], epoch, now, ttl, channelAndNode }, ' '), 'PX', ttl)
      redis.call('SET', KEYS[3 * n + i], epoch, 'PX', keep)
      answer = { 1, floor + 1, t, t }
    end
  end
  slow = slow or not answer
  answers[i] = answer or 0
end
if not slow then
  return n == 1 and answers[1] or answers
end
-- lib.lua is inserted here

local liveness, retention = tonumber(ARGV[3]), keep - ttl

local function takeOrQueue(id, lockKey, queueKey, waitersKey, floorKey)
  local lock = redis.call('GET', lockKey)
  if not lock then
    -- The last lease ran out. Those who wait come first; that may be this one.
    handOn(lockKey, queueKey, waitersKey, floorKey, retention, t, 0)
    lock = redis.call('GET', lockKey)
  end
  if not lock then
    return { 1, take(lockKey, floorKey, retention, t, id, ttl, channelAndNode), t, t }
  end
  local owner, epoch, since, _, _, holder = parse(lock)
  if owner == id then
    return { 1, tonumber(epoch), tonumber(since), t }
  end
  if liveness > 0 then
    if not redis.call('ZSCORE', queueKey, id) then
      redis.call('ZADD', queueKey, redis.call('HINCRBY', waitersKey, '#', 1), id)
      redis.call('HSET', waitersKey, id, ttl .. ' ' .. channelAndNode)
    end
    local channel = string.match(channelAndNode, '^%S+')
    redis.call('HSET', waitersKey, '@' .. channel, int(math.floor(t / 1000) + liveness))
    keepQueue(queueKey, waitersKey, liveness)
  end
  return { 0, redis.call('PTTL', lockKey), t, holder }
end

for i, answer in ipairs(answers) do
  if answer == 0 then
    answers[i] = takeOrQueue(ARGV[4 + i], KEYS[i], KEYS[n + i], KEYS[2 * n + i], KEYS[3 * n + i])
  end
end
return n == 1 and answers[1] or answers
