-- Keeps the claim of a run in flight for another lease.
--
-- KEYS  job, runs
-- ARGV  1 expiry (ms), 2 run id, 3 lease (µs)
-- Returns 1  done
--         0  the run is not in flight
if redis.call('HEXISTS', KEYS[1], 'u:' .. ARGV[2]) == 0 then
  return 0
end
redis.call('HSET', KEYS[1], 'u:' .. ARGV[2], int(now() + tonumber(ARGV[3])))
return 1
