-- Leaves a notice for the owner of a run.
--
-- KEYS  owner, notices
-- ARGV  1 run, 2 notice (JSON)
-- Returns 1  done
--         0  the run is not in flight
local owner = redis.call('HGET', KEYS[1], ARGV[1])
if not owner then return 0 end
redis.call('HSET', KEYS[2], ARGV[1], int(now()) .. ' ' .. owner .. ' ' .. ARGV[2])
return 1
