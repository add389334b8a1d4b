-- Shows that a process still waits for locks, and asks until when.
--
-- KEYS  the queues, then their waiters, then their locks
-- ARGV  1 channel, 2 liveness (ms)
-- Returns for each queue what is left of the lease in the way (ms; 0: it is over), -1 if there is no queue, or
--         {lease id, the same} if it is a lease of this process, which may not have been told; -2 if the lock is shared,
--         and alive_shared.lua says the rest
local n, channel, liveness = #KEYS / 3, ARGV[1], tonumber(ARGV[2])
local live = int(math.floor(now() / 1000) + liveness)
local states = {}
touch(KEYS[1])
for i = 1, n do
  local queueKey, waitersKey, lockKey = KEYS[i], KEYS[n + i], KEYS[2 * n + i]
  local lock, left = redis.call('GET', lockKey), 0
  if lock then
    left = math.max(redis.call('PTTL', lockKey), 0)
  end
  local state = left
  if redis.call('EXISTS', queueKey) == 0 then
    state = -1
  else
    redis.call('HSET', waitersKey, '@' .. channel, live)
    keepQueue(queueKey, waitersKey, liveness)
  end
  if lock and string.sub(lock, 1, 1) == '*' then
    state = -2
  elseif lock and string.find(lock, ' ' .. channel .. ' ', 1, true) then
    state = { string.match(lock, '^%S+'), state }
  end
  states[i] = state
end
return states
