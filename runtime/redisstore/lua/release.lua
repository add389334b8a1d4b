-- Ends leases of one process, each of its own lock: hands the lock to the first live waiter, or frees it.
--
-- KEYS  for each lease: lock, queue, waiters, floor
-- ARGV  1 retention (ms), then each lease's id
-- Returns for each lease: 1 released, 0 not the owner: nothing was changed
local answers, slow = {}, false
for i = 1, #ARGV - 1 do
  local lock, id = redis.call('GET', KEYS[4 * i - 3]), ARGV[1 + i]
  if not lock or string.sub(lock, 1, #id + 1) ~= id .. ' ' then
    answers[i] = 0
  elseif redis.call('EXISTS', KEYS[4 * i - 2]) == 0 then
    redis.call('DEL', KEYS[4 * i - 3])
    answers[i] = 1
  else
    slow, answers[i] = true, 2
  end
end
if not slow then
  return answers
end
-- lib.lua is inserted here

local t = now()
for i, answer in ipairs(answers) do
  if answer == 2 then
    local k = 4 * i
    release(KEYS[k - 3], KEYS[k - 2], KEYS[k - 1], KEYS[k], tonumber(ARGV[1]), t)
    answers[i] = 1
  end
end
return answers
