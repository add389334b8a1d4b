-- Reads a job's mark and claims.
--
-- KEYS  job, runs
-- ARGV  1 expiry (ms)
-- Returns {now (µs), all fields and values of the job's hash}
local t = now()
touch(KEYS[1], KEYS[2], t)
return { t, redis.call('HGETALL', KEYS[1]) }
