-- Ends a pause of a job: nothing before now is owed any more.
--
-- KEYS  1 cursors, 2 paused, 3 records of the job, 4 stamp, 5 pausing, 6 latest, 7 failing, 8 never
-- ARGV  1 expiry (ms), 2 job, 3 version of its pause, 4 record (JSON), 5 records to keep
-- Returns what is kept of the resume, '' if that is not its pause
local t = now()
local paused = redis.call('HGET', KEYS[2], ARGV[2])
if not paused or string.match(paused, '^%d+') ~= ARGV[3] or not string.match(paused, '}$') then return '' end
local version = nextVersion(paused)
redis.call('HSET', KEYS[2], ARGV[2], version .. ' -')
redis.call('HSET', KEYS[4], 'pv', version)
redis.call('ZREM', KEYS[5], ARGV[2])
if tonumber(redis.call('HGET', KEYS[1], ARGV[2]) or 0) < t then
  redis.call('HSET', KEYS[1], ARGV[2], int(t))
end
record(KEYS[3], ARGV[4], tonumber(ARGV[5]), ARGV[1])
note({ [ARGV[2]] = false }, KEYS[6], KEYS[7], KEYS[8], t)
return version .. ' -'
