-- Takes locks for leases of one process, each its own lock, or queues them. Also the waiter's poke: it may be repeated
-- at any time.
--
-- KEYS  the locks of all leases, then their queues, then their waiters, then their floors
-- ARGV  1 ttl (ms), 2 ttl + retention (ms), 3 liveness (ms; 0: do not queue), 4 "<channel> <node>",
--       5 latest (µs): the call changes nothing when the server's clock is past it, then each lease's id
-- Returns for each lease, in an array if there are several:
--         epoch                                         it owns the lock, from this moment on the server's clock
--         {1, epoch, since (µs), now (µs), ttl (ms)}    it owns the lock, since then and for so long
--         {0, remaining (ms), now (µs), holder's node}  somebody else does; it is queued if liveness is not 0
--         {2, now (µs)}                                 the call came too late
--         {3, now (µs)}                                 it owned the lock, and was broken
local time = redis.call('TIME')
local now = time[1] .. string.sub('00000' .. time[2], -6)
local t = tonumber(now)
local n, ttl, keep, channelAndNode = #KEYS / 4, ARGV[1], ARGV[2], ARGV[4]
local answers, slow = {}, false
if t > tonumber(ARGV[5]) then
  for i = 1, n do
    answers[i] = { 2, t }
  end
  return n == 1 and answers[1] or answers
end
local value = ' ' .. now .. ' ' .. now .. ' ' .. ttl .. ' ' .. channelAndNode
-- What happens nearly always, in as few calls as possible: free, nobody waits, the clock is ahead of the floor.
local nobodyWaits = redis.call('EXISTS', unpack(KEYS, n + 1, 2 * n)) == 0
for i = 1, n do
  local answer
  if (nobodyWaits or redis.call('EXISTS', KEYS[n + i]) == 0)
    and redis.call('SET', KEYS[i], ARGV[5 + i] .. value, 'NX', 'PX', ttl) then
    local was = redis.pcall('SET', KEYS[3 * n + i], now, 'PX', keep, 'GET')
    local floor = tonumber(was or 0)
    if floor and floor < t then
      answer = t
    elseif type(was) == 'table' then
      redis.call('DEL', KEYS[i]) -- another program's key is in the way
      return was
    elseif floor and floor < 9007199254740991 then
      local epoch = string.format('%.0f', floor + 1)
      redis.call('SET', KEYS[i], table.concat({ ARGV[5 + i], epoch, now, ttl, channelAndNode }, ' '), 'PX', ttl)
      redis.call('SET', KEYS[3 * n + i], epoch, 'PX', keep)
      answer = { 1, floor + 1, t, t, tonumber(ttl) }
    else
      answer = t -- the floor was no epoch; it is one again
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
    return { 1, take(lockKey, floorKey, retention, t, id, ttl, channelAndNode), t, t, tonumber(ttl) }
  end
  local owner, epoch, since, granted, _, holder = parse(lock)
  if owner == id then
    if granted == '0' then
      return { 3, t }
    end
    return { 1, tonumber(epoch), tonumber(since), t, tonumber(granted) }
  end
  if liveness > 0 then
    if redis.call('ZSCORE', queueKey, id) then
      touch(queueKey) -- who stands in the queue keeps its place when memory is short
    else
      redis.call('ZADD', queueKey, redis.call('HINCRBY', waitersKey, '#', 1), id)
    end
    local channel = string.match(channelAndNode, '^%S+')
    redis.call('HSET', waitersKey, id, ttl .. ' ' .. channelAndNode,
      '@' .. channel, int(math.floor(t / 1000) + liveness))
    keepQueue(queueKey, waitersKey, liveness)
  end
  return { 0, redis.call('PTTL', lockKey), t, holder }
end

for i, answer in ipairs(answers) do
  if answer == 0 then
    answers[i] = takeOrQueue(ARGV[5 + i], KEYS[i], KEYS[n + i], KEYS[2 * n + i], KEYS[3 * n + i])
  end
end
return n == 1 and answers[1] or answers
