-- Pauses a job.
--
-- KEYS  marks, paused
-- ARGV  1 job, 2 since when (µs), a blank, and the pause as JSON
-- Returns 1  done
--         0  the job is not known
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then return 0 end
redis.call('HSET', KEYS[2], ARGV[1], ARGV[2])
return 1
