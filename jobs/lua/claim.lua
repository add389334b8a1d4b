-- Moves a job's mark from one tick to the next and claims the run for it, once for all nodes that ask.
--
-- KEYS  job, runs
-- ARGV  1 expiry (ms), 2 expected mark, 3 tick, 4 due (all µs), 5 run id ('': only move the mark), 6 run (JSON),
--       7 lease (µs), 8 record of skipped ticks (JSON; '': none), 9 records to keep
-- Returns {1, mark, now (µs)}  claimed, now or by an earlier call of the same run
--         {2, mark, now (µs)}  the mark is another one
--         {3, mark, now (µs)}  it is too early
local job, runs = KEYS[1], KEYS[2]
local prev, tick, due, id = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4]), ARGV[5]
local t = now()
touch(job, runs, t)

local mark = tonumber(redis.call('HGET', job, 'mark'))
if mark == tick and id ~= '' and redis.call('HEXISTS', job, 'u:' .. id) == 1 then
  return { 1, mark, t }
end
if mark ~= prev then
  return { 2, mark, t }
end
if due > t then
  return { 3, mark, t }
end
redis.call('HSET', job, 'mark', ARGV[3])
if ARGV[8] ~= '' then
  record(runs, ARGV[8], tonumber(ARGV[9]))
end
if id ~= '' then
  hold(job, t, tonumber(ARGV[7]), id, ARGV[6])
end
touch(job, runs, t)
return { 1, tick, t }
