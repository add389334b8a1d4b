-- Leaves a notice for a run that is to end: for its owner, and for whoever gets it after that.
--
-- KEYS  owner, notices
-- ARGV  1 run, 2 notice (JSON)
-- Returns 1  done
--         0  the run is not in flight
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then return 0 end
redis.call('HSET', KEYS[2], ARGV[1], int(now()) .. ' * ' .. ARGV[2])
return 1
