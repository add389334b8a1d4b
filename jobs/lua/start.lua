-- Notes that a run in flight begins, and keeps its claim.
--
-- KEYS  job, runs
-- ARGV  1 expiry (ms), 2 run id, 3 run (JSON), 4 lease (µs)
-- Returns 1  done
--         0  the run is not in flight
if redis.call('HEXISTS', KEYS[1], 'u:' .. ARGV[2]) == 0 then
  return 0
end
hold(KEYS[1], now(), tonumber(ARGV[4]), ARGV[2], ARGV[3])
return 1
