-- Moves the cursors of jobs, each from one tick to the next, and puts the runs for these ticks in flight, once for all
-- nodes that ask. The batch is one step.
--
-- KEYS  1 cursors, 2 paused, 3 missed, 4 flight, 5 owner, 6 alive, 7 oneoffs, 8 due, 9 past, 10 epochs, 11 owed, 12 latest,
--       13 failing, 14 never, 15 missing, 16 totals, 17… one list of records for each claim with a record
-- ARGV  1 expiry (ms), 2 lease (µs), 3 records to keep, 4 how long one-off jobs are remembered (µs), then twelve for each
--       claim: what ('tick', 'owed', 'manual' or 'oneoff'), job, expected cursor, tick, due (all µs), run ('': only move the cursor),
--       its owner, its JSON, record of skipped ticks (JSON; '': none), for a tick the number of ticks missed, for a
--       one-off job its ID, for a run on demand what it is remembered by, the epoch that it was planned in ('': any), what is owed besides
--       (span; '': nothing), or 'done' for the last of a span
-- Returns {now (µs), then status, cursor and what is owed of each claim}; the status is
--         1  claimed, now or by an earlier call
--         2  the cursor is another one, or the one-off job does not wait any more
--         3  it is too early
--         4  the job is paused
--         5  a tick that was owed is asked for, and a run of the job for such a one is in flight
--         6  the epoch is another one
--         7  the job is not known
local t = now()
local jobs = {}
for i = 5, #ARGV, 12 do jobs[#jobs + 1] = ARGV[i + 1] end
local known, epochs, pauses = mget(KEYS[1], jobs), mget(KEYS[10], jobs), {}
if redis.call('EXISTS', KEYS[2]) == 1 then pauses = mget(KEYS[2], jobs) end
local cursors, debts, changed = {}, {}, {}
for i, job in ipairs(jobs) do cursors[job] = cursors[job] or known[i] end
if redis.call('EXISTS', KEYS[11]) == 1 then
  for i, debt in ipairs(mget(KEYS[11], jobs)) do debts[jobs[i]] = debt or nil end
end

local moved, flights, owned, leases, missed = {}, {}, {}, {}, {}
local records, skips = 17, {}

-- isRepeated reports whether an earlier call has put the run in flight. One on demand may have ended since, or have another
-- owner: name is what it is remembered by.
local function isRepeated(id, owner, name)
  if id == '' then return false end
  return redis.call('HGET', KEYS[5], id) == owner or name and redis.call('ZSCORE', KEYS[9], name)
end

local function remember(name)
  redis.call('ZADD', KEYS[9], int(t), name)
  redis.call('ZREMRANGEBYSCORE', KEYS[9], '-inf', int(t - ARGV[4]))
end

-- isCatchingUp reports whether a run of the job for a tick that was owed is in flight, those of this batch included.
local running
local function isCatchingUp(job)
  running = running or redis.call('HKEYS', KEYS[4])
  for _, id in ipairs(running) do
    if jobOf(id) == job and string.find(redis.call('HGET', KEYS[4], id), '"backlog":true', 1, true) then return true end
  end
  for i = 1, #flights, 2 do
    if jobOf(flights[i]) == job and string.find(flights[i + 1], '"backlog":true', 1, true) then return true end
  end
  return false
end

local function hold(id, owner, run)
  flights[#flights + 1] = id
  flights[#flights + 1] = run
  owned[#owned + 1] = id
  owned[#owned + 1] = owner
  leases[owner] = true
end

local function move(job, cursor)
  cursors[job] = cursor
  moved[#moved + 1] = job
  moved[#moved + 1] = cursor
end

local function claimOneOff(name, due)
  local at = redis.call('ZSCORE', KEYS[8], name)
  if not at then return 2 end
  if due > t then return 3 end
  redis.call('ZREM', KEYS[8], name)
  redis.call('HDEL', KEYS[7], name)
  remember(name)
  return 1
end

local function owe(job, debt)
  debts[job] = debt
  changed[job] = true
end

-- pay moves the begin of what is owed longest, or ends it.
local function pay(job, tick, done)
  local to, rest = string.match(debts[job], '^%d+ (%d+);?(.*)$')
  if done then
    owe(job, rest)
  else
    owe(job, tick .. ' ' .. to .. (rest ~= '' and ';' .. rest or ''))
  end
end

local function claimTick(i, job, prev, due, owed, epoch)
  local cursor = cursors[job]
  if not cursor then return 7 end
  if epoch ~= '' and epoch ~= epochs[i] then return 6 end
  if owed then cursor = debts[job] and string.match(debts[job], '^%d+') end
  if cursor ~= prev then return 2 end
  if pauses[i] and string.sub(pauses[i], -1) == '}' then return 4 end
  if due > t then return 3 end
  if owed and isCatchingUp(job) then return 5 end
  return 1
end

local answer = { int(t) }
for i, job in ipairs(jobs) do
  local at = 5 + (i - 1) * 12
  local what, prev, tick, due = ARGV[at], ARGV[at + 2], ARGV[at + 3], tonumber(ARGV[at + 4])
  local id, owner, run, skipped, extra, epoch, debt =
    ARGV[at + 5], ARGV[at + 6], ARGV[at + 7], ARGV[at + 8], ARGV[at + 9], ARGV[at + 10], ARGV[at + 11]
  local status = 1
  -- A run that is in flight has moved its cursor, so where that is as expected there is nothing to be asked.
  if what == 'tick' and cursors[job] == prev or not isRepeated(id, owner, what == 'manual' and extra) then
    if what == 'oneoff' then
      status = claimOneOff(extra, due)
    elseif what == 'manual' then
      if id ~= '' then remember(extra) end
    else
      status = claimTick(i, job, prev, due, what == 'owed', epoch)
      if status == 1 then
        if what == 'owed' then
          pay(job, tick, debt == 'done')
        else
          move(job, tick)
          if debt ~= '' then owe(job, ((debts[job] or '') ~= '' and debts[job] .. ';' or '') .. debt) end
        end
        if extra ~= '0' then missed[job] = (missed[job] or 0) + tonumber(extra) end
        if skipped ~= '' then
          record(KEYS[records], skipped, tonumber(ARGV[3]), ARGV[1])
          skips[job] = false
        end
      end
    end
    if status == 1 and id ~= '' then hold(id, owner, run) end
  else
    leases[owner] = true
  end
  if skipped ~= '' then records = records + 1 end
  answer[#answer + 1] = status
  answer[#answer + 1] = cursors[job] or ''
  answer[#answer + 1] = debts[job] or ''
end

write('HSET', KEYS[1], moved)
write('HSET', KEYS[4], flights)
add(KEYS[5], owned)
for job in pairs(changed) do
  if debts[job] == '' then redis.call('HDEL', KEYS[11], job) else redis.call('HSET', KEYS[11], job, debts[job]) end
end
for job, n in pairs(missed) do
  redis.call('ZINCRBY', KEYS[3], int(n), job)
  redis.call('ZADD', KEYS[15], 0, job)
  redis.call('HINCRBY', KEYS[16], 'missed', int(n))
end
note(skips, KEYS[12], KEYS[13], KEYS[14], t)
extend(KEYS[6], leases, t, ARGV[2])
return answer
