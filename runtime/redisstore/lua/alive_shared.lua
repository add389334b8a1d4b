-- Shows that a process still waits for locks of any kind, and asks until when.
--
-- KEYS  the queues, then their waiters, then their locks, then their holders
-- ARGV  1 channel, 2 liveness (ms)
-- Returns for each queue what is left of the lease in the way (ms; 0: it is over, or the head of the queue has died or
--         fits), -1 if there is no queue, or {lease id, the same[, more ids]} if leases of this process have the lock or
--         shares of it, which it may not have been told
local n, channel, liveness = #KEYS / 4, ARGV[1], tonumber(ARGV[2])
local t = math.floor(now() / 1000)
local live = int(t + liveness)

-- Those who share a lock renew it, perhaps for ever. So whoever waits behind one who has died asks at once, and so does
-- one who fits: a node of before may have left it there.
local function shared(kind, queueKey, waitersKey, holdersKey, left)
  local head = redis.call('ZRANGE', queueKey, 0, 0)[1]
  local waiter = head and redis.call('HGET', waitersKey, head)
  local seen = waiter and redis.call('HGET', waitersKey, '@' .. string.match(waiter, '^%d+ (%S+) '))
  if not seen or tonumber(seen) <= t then
    return 0
  end
  local asks, limit = string.match(head, '~([rp])(%d*)$')
  if asks ~= kind then
    return left
  end
  if kind == 'r' then
    return 0
  end
  local function living(at)
    return redis.call('ZRANGE', holdersKey, int(t), '+inf', 'BYSCORE', 'LIMIT', at, 1)[1]
  end
  if not living(limit - 1) then
    return 0
  end
  return math.floor(redis.call('ZSCORE', holdersKey, living(0))) - t
end

-- own returns the ids of this process among the holders; nil if those are so many that it had better ask.
local function own(holdersKey)
  local holders, ids = redis.call('ZRANGE', holdersKey, int(t), '+inf', 'BYSCORE', 'LIMIT', 0, 101), {}
  for _, holder in ipairs(holders) do
    if string.find(holder, ' ' .. channel .. ' ', 1, true) then
      ids[#ids + 1] = string.match(holder, '^%S+')
    end
  end
  return #holders <= 100 and ids or nil
end

local states = {}
touch(KEYS[1])
for i = 1, n do
  local queueKey, waitersKey, lockKey, holdersKey = KEYS[i], KEYS[n + i], KEYS[2 * n + i], KEYS[3 * n + i]
  local lock, left = redis.call('GET', lockKey), 0
  if lock then
    left = math.max(redis.call('PTTL', lockKey), 0)
  end
  local kind, isBroken = string.match(lock or '', '^%*([rp]) %d+ %d+ (%d+) ')
  local state = left
  if redis.call('EXISTS', queueKey) == 0 then
    state = -1
  else
    redis.call('HSET', waitersKey, '@' .. channel, live)
    keepQueue(queueKey, waitersKey, liveness)
    if kind then
      state = shared(isBroken ~= '0' and kind, queueKey, waitersKey, holdersKey, left)
    end
  end
  if kind then
    local ids = own(holdersKey)
    if not ids then
      state = math.min(state, 0)
    elseif ids[1] then
      table.insert(ids, 2, state)
      state = ids
    end
  elseif lock and string.find(lock, ' ' .. channel .. ' ', 1, true) then
    state = { string.match(lock, '^%S+'), state }
  end
  states[i] = state
end
return states
