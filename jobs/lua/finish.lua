-- Ends the claim of a run, keeps its record, and puts the next attempt in flight in its place.
--
-- KEYS  job, runs
-- ARGV  1 expiry (ms), 2 run id, 3 record (JSON; '': none), 4 records to keep, 5 '1': only if the claim is over,
--       6 id of the next attempt ('': none), 7 next attempt (JSON), 8 its lease (µs)
-- Returns 1  done
--         0  the run is not in flight, or its claim is not over
local job, runs, id = KEYS[1], KEYS[2], ARGV[2]
local t = now()
local til = redis.call('HGET', job, 'u:' .. id)
if not til or (ARGV[5] == '1' and tonumber(til) > t) then
  return 0
end
redis.call('HDEL', job, 'u:' .. id, 'p:' .. id)
if ARGV[3] ~= '' then
  record(runs, ARGV[3], tonumber(ARGV[4]))
end
if ARGV[6] ~= '' then
  hold(job, t, tonumber(ARGV[8]), ARGV[6], ARGV[7])
end
touch(job, runs, t)
return 1
