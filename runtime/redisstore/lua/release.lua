-- Ends leases of one process, each of its own lock: hands the lock to the first live waiter, or frees it.
--
-- KEYS  the locks of all leases, then their queues, then their waiters, then their floors
-- ARGV  1 retention (ms), then each lease's id
-- Returns for each lease, in an array if there are several: 1 released, 0 not the owner: nothing was changed,
--         3 readers or permits hold the lock or come next, and release_shared.lua has to release it
local n = #KEYS / 4
local nobodyWaits = redis.call('EXISTS', unpack(KEYS, n + 1, 2 * n)) == 0
local answers, free, slow = {}, {}, false
for i = 1, n do
  local lock, owner = redis.call('GET', KEYS[i]), ARGV[1 + i] .. ' '
  if not lock or string.sub(lock, 1, #owner) ~= owner then
    answers[i] = lock and string.sub(lock, 1, 1) == '*' and 3 or 0
  elseif nobodyWaits or redis.call('EXISTS', KEYS[n + i]) == 0 then
    free[#free + 1], answers[i] = KEYS[i], 1
  else
    slow, answers[i] = true, 2
  end
end
if free[1] then
  redis.call('DEL', unpack(free))
end
if not slow then
  return n == 1 and answers[1] or answers
end
-- lib.lua is inserted here

local t = now()
for i, answer in ipairs(answers) do
  if answer == 2 then
    local mixed = release(KEYS[i], KEYS[n + i], KEYS[2 * n + i], KEYS[3 * n + i], tonumber(ARGV[1]), t)
    answers[i] = mixed and 3 or 1
  end
end
return n == 1 and answers[1] or answers
