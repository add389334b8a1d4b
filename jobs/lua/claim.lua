-- Moves the marks of jobs, each from one tick to the next, and puts the runs for these ticks in flight, once for all
-- nodes that ask. The batch is one step.
--
-- KEYS  1 marks, 2 paused, 3 missed, 4 flight, 5 owner, 6 alive, 7 once, 8 due, 9 past, 10 epochs, 11… one list of records for each
--       claim with a record
-- ARGV  1 expiry (ms), 2 lease (µs), 3 records to keep, 4 how long one-off jobs are remembered (µs), then eleven for each
--       claim: what ('tick', 'alone', 'manual' or 'once'), job, expected mark, tick, due (all µs), run ('': only move the mark),
--       its owner, its JSON, record of skipped ticks (JSON; '': none), for a tick the number of ticks missed, for a
--       one-off job its ID, the epoch that it was planned in ('': any)
-- Returns {now (µs), then status and mark of each claim}; the status is
--         1  claimed, now or by an earlier call
--         2  the mark is another one, or the one-off job does not wait any more
--         3  it is too early
--         4  the job is paused
--         5  it is to be alone, and a run of the job is in flight
--         6  the epoch is another one
--         7  the job is not known
local t = now()
local jobs = {}
for i = 5, #ARGV, 11 do jobs[#jobs + 1] = ARGV[i + 1] end
local known, epochs, pauses = mget(KEYS[1], jobs), mget(KEYS[10], jobs), {}
if redis.call('EXISTS', KEYS[2]) == 1 then pauses = mget(KEYS[2], jobs) end
local marks = {}
for i, job in ipairs(jobs) do marks[job] = marks[job] or known[i] end

local moved, flights, owned, leases, missed = {}, {}, {}, {}, {}
local records = 11

-- isRepeated reports whether an earlier call has put the run in flight.
local function isRepeated(id, owner) return id ~= '' and redis.call('HGET', KEYS[5], id) == owner end

-- jobOf is the job that the ID of a run names.
local function jobOf(id) return string.match(id, '^(.*)@[^@]*$') or '' end

-- busy are the jobs with runs in flight, those of this batch among them; read when the first claim wants to be alone.
local busy
local function isBusy(job)
  if not busy then
    busy = {}
    for _, id in ipairs(redis.call('HKEYS', KEYS[4])) do busy[jobOf(id)] = true end
    for i = 1, #flights, 2 do busy[jobOf(flights[i])] = true end
  end
  return busy[job]
end

local function hold(id, owner, run)
  flights[#flights + 1] = id
  flights[#flights + 1] = run
  if busy then busy[jobOf(id)] = true end
  owned[#owned + 1] = id
  owned[#owned + 1] = owner
  leases[owner] = true
end

local function move(job, mark)
  marks[job] = mark
  moved[#moved + 1] = job
  moved[#moved + 1] = mark
end

local function claimOnce(name, due)
  local at = redis.call('ZSCORE', KEYS[8], name)
  if not at then return 2 end
  if due > t then return 3 end
  redis.call('ZREM', KEYS[8], name)
  redis.call('HDEL', KEYS[7], name)
  redis.call('ZADD', KEYS[9], int(t), name)
  redis.call('ZREMRANGEBYSCORE', KEYS[9], '-inf', int(t - ARGV[4]))
  return 1
end

local function claimTick(i, job, prev, due, alone, epoch)
  local mark = marks[job]
  if not mark then return 7 end
  if epoch ~= '' and epoch ~= epochs[i] then return 6 end
  if mark ~= prev then return 2 end
  if pauses[i] and string.sub(pauses[i], -1) == '}' then return 4 end
  if due > t then return 3 end
  if alone and isBusy(job) then return 5 end
  return 1
end

local answer = { int(t) }
for i, job in ipairs(jobs) do
  local at = 5 + (i - 1) * 11
  local what, prev, tick, due = ARGV[at], ARGV[at + 2], ARGV[at + 3], tonumber(ARGV[at + 4])
  local id, owner, run, skipped, extra, epoch =
    ARGV[at + 5], ARGV[at + 6], ARGV[at + 7], ARGV[at + 8], ARGV[at + 9], ARGV[at + 10]
  local status = 1
  -- A run that is in flight has moved its mark, so where that is as expected there is nothing to be asked.
  if what == 'tick' and marks[job] == prev or not isRepeated(id, owner) then
    if what == 'once' then
      status = claimOnce(extra, due)
    elseif what ~= 'manual' then
      status = claimTick(i, job, prev, due, what == 'alone', epoch)
      if status == 1 then
        move(job, tick)
        if extra ~= '0' then missed[job] = extra end
        if skipped ~= '' then record(KEYS[records], skipped, tonumber(ARGV[3]), ARGV[1]) end
      end
    end
    if status == 1 and id ~= '' then hold(id, owner, run) end
  end
  if skipped ~= '' then records = records + 1 end
  answer[#answer + 1] = status
  answer[#answer + 1] = marks[job] or ''
end

write('HSET', KEYS[1], moved)
write('HSET', KEYS[4], flights)
add(KEYS[5], owned)
for job, n in pairs(missed) do redis.call('HINCRBY', KEYS[3], job, n) end
extend(KEYS[6], leases, t, ARGV[2])
return answer
