-- Reads the state of jobs.
--
-- KEYS  1 cursors, 2 paused, 3 missed, 4 flight, 5 owner, 6 begun, 7 specs, 8 owed
-- ARGV  the jobs
-- Returns {now (µs), {cursor or '', paused or '', missed or '', spec or '', owed or '' of each job},
--          {run, owner, begun or '', JSON of each of their runs in flight}}
local jobs, wanted = {}, {}
for i, job in ipairs(ARGV) do
  jobs[i] = job
  wanted[job] = true
end
local cursors, paused, missed, specs, owed = mget(KEYS[1], jobs), mget(KEYS[2], jobs), scores(KEYS[3], jobs), mget(KEYS[7], jobs),
  mget(KEYS[8], jobs)
local states, flights = {}, {}
for i in ipairs(jobs) do
  states[#states + 1] = cursors[i] or ''
  states[#states + 1] = paused[i] or ''
  states[#states + 1] = missed[i] or ''
  states[#states + 1] = specs[i] or ''
  states[#states + 1] = owed[i] or ''
end
for _, id in ipairs(redis.call('HKEYS', KEYS[4])) do
  if wanted[string.match(id, '^(.*)@[^@]*$')] then
    flights[#flights + 1] = id
    flights[#flights + 1] = redis.call('HGET', KEYS[5], id) or ''
    flights[#flights + 1] = redis.call('HGET', KEYS[6], id) or ''
    flights[#flights + 1] = redis.call('HGET', KEYS[4], id)
  end
end
return { int(now()), states, flights }
