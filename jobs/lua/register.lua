-- Makes jobs known: one that is seen for the first time gets the current time as its mark. Jobs that nobody has
-- registered for too long are forgotten, some at a time.
--
-- KEYS  marks, seen, paused, missed
-- ARGV  1 expiry (ms), then the jobs
-- Returns nothing of worth
local t = now()
local jobs, marks, seen = {}, {}, {}
for i = 2, #ARGV do jobs[i - 1] = ARGV[i] end
for i, mark in ipairs(mget(KEYS[1], jobs)) do
  if not mark then
    marks[#marks + 1] = jobs[i]
    marks[#marks + 1] = int(t)
  end
  seen[#seen + 1] = int(t)
  seen[#seen + 1] = jobs[i]
end
write('HSET', KEYS[1], marks)
write('ZADD', KEYS[2], seen)
local old = redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', int(t - ARGV[1] * 1000), 'LIMIT', 0, 100)
for _, job in ipairs(old) do
  redis.call('ZREM', KEYS[2], job)
  for _, i in ipairs({ 1, 3, 4 }) do redis.call('HDEL', KEYS[i], job) end
end
for _, key in ipairs(KEYS) do redis.call('PEXPIRE', key, ARGV[1]) end
return 1
