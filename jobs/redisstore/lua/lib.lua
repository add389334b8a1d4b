-- Shared by all scripts of package jobs, which stand below this.
--
-- Jobs are spread over shards by name; the keys of a shard are in one slot, so that a script can work on many jobs:
--   cursors  hash   job -> up to which tick all is decided (µs since the epoch)
--   seen     zset   job -> when it was registered last (µs)
--   paused   hash   job -> version of the last pause or resume (µs), a blank, and the pause as JSON, or a dash
--   missed   zset   job -> number of ticks missed
--   owed     hash   job -> spans of ticks to be run beside the schedule: after when, up to when (µs), a blank between them,
--                   and semicolons between the spans, oldest first
--   specs    hash   job -> which sessions have which definitions of it, and which timing is in force since when (JSON)
--   epochs   hash   job -> the epoch of its spec
--   madeup   hash   job -> the cursor that it was given for want of a better (µs)
--   flight   hash   run -> the run in flight, as JSON
--   owner    hash   run -> the session that it belongs to
--   begun    hash   run -> when it began (µs), a blank, and its fence
--   alive    hash   session -> until when its lease holds (µs)
--   notices  hash   run -> when (µs), for which owner ('*': whoever has the run), and notice as JSON, with blanks between
--                   them; or when, '!', and up to when its begins are void (µs)
--   oneoffs  hash   one-off job -> it, as JSON
--   due      zset   one-off job -> its time (µs)
--   past     zset   one-off job -> when it was claimed (µs)
--   stamp    hash   'id' -> what tells this shard from one that forgot, 'pv' -> version of the last pause or resume,
--                   'at:' session -> its last heartbeat (µs), 'n:' session -> how many it has given
--   names    zset   jobs that were ever registered
--   texts    hash   job -> what a search looks into, in lower case
--   latest   zset   job -> when its last record was kept (µs)
--   failing  zset   jobs whose last record says of a failure
--   pausing  zset   jobs that are paused
--   missing  zset   jobs that have missed ticks
--   never    zset   jobs without a record
--   totals   hash   'missed' -> number of ticks missed by all jobs
--   failures list   the last records of all jobs that say of a failure, as JSON, the latest first
--   runs:<job>      list of records as JSON, the latest first
-- and in the shard of the one-off jobs
--   nodes    hash   session -> last sign of life (µs), a blank, and the node as JSON

-- now is the server's time in µs. All nodes share this clock, and no decision uses another.
local function now()
  local t = redis.call('TIME')
  return t[1] * 1000000 + t[2]
end

-- int writes a number in full: Lua's own conversion rounds to 14 digits.
local function int(n) return string.format('%.0f', n) end

-- chunked calls f with up to 1000 elements of list at a time: Lua's stack has room for some thousands.
local function chunked(list, f)
  for first = 1, #list, 1000 do
    f(unpack(list, first, math.min(first + 999, #list)))
  end
end

-- mget returns the values of many fields of a hash, false for those that are not there.
local function mget(key, fields)
  local values = {}
  chunked(fields, function(...)
    for _, v in ipairs(redis.call('HMGET', key, ...)) do values[#values + 1] = v end
  end)
  return values
end

-- scores returns the scores of many members of a sorted set, false for those that are not there.
local function scores(key, members)
  local values = {}
  chunked(members, function(...)
    for _, v in ipairs(redis.call('ZMSCORE', key, ...)) do values[#values + 1] = v end
  end)
  return values
end

-- write calls a command that takes a key and many arguments, if there are any.
local function write(command, key, args)
  chunked(args, function(...) redis.call(command, key, ...) end)
end

-- add sets many fields of a hash of short values. Redis keeps such a hash as a list, which it searches from end to end,
-- until it has met a long value: with many fields at once, one that comes and goes makes it a table.
local function add(key, args)
  write('HSET', key, args)
  if #args >= 32 then
    redis.call('HSET', key, '', string.rep(' ', 100))
    redis.call('HDEL', key, '')
  end
end

-- extend makes the leases of owners last for lease µs from t. Nobody's is always over.
local function extend(alive, owners, t, lease)
  local pairs_ = {}
  for owner in pairs(owners) do
    pairs_[#pairs_ + 1] = owner
    pairs_[#pairs_ + 1] = owner == 'nobody' and '0' or int(t + lease)
  end
  write('HSET', alive, pairs_)
end

-- cancelled returns the notice of somebody who wants a run to end, nil if there is none.
local function cancelled(notices, id)
  local text = redis.call('HGET', notices, id)
  return text and string.match(text, '^%d+ %* (.*)$')
end

-- void returns up to when the begins of a run are void, nil if that was never said. A wish that the run ends takes its place.
local function void(notices, id)
  local text = redis.call('HGET', notices, id)
  return text and string.match(text, '^%d+ ! (%d+)$')
end

-- nextVersion is above that of the last pause or resume.
local function nextVersion(last)
  local old = last and tonumber(string.match(last, '^%d+')) or 0
  return int(math.max(now(), old + 1))
end

-- earlier returns the earlier of two times in UTC as JSON has them. Without the Z they are in order: it stands where digits
-- of a fraction may follow.
local function earlier(a, b) return string.sub(a, 1, -2) < string.sub(b, 1, -2) and a or b end

-- join takes out the record that a skipped tick may share with those skipped before it, back to the last run, and returns
-- the record for all; see Run.Join and memoryJob.record, which do the same.
local function join(runs, text)
  local new = cjson.decode(text)
  for _, line in ipairs(redis.call('LRANGE', runs, 0, 31)) do
    local old = cjson.decode(line)
    if old.outcome ~= 'skipped' then break end
    if old.reason == new.reason and old.trigger == new.trigger and not old.author then
      redis.call('LREM', runs, 1, line)
      new.id, new.ticks = old.id, (old.ticks or 1) + (new.ticks or 1)
      new.first = earlier(old.first or old.tick, new.first or new.tick)
      if earlier(new.tick, old.tick) == new.tick then new.tick = old.tick end
      return cjson.encode(new)
    end
  end
  return text
end

-- record adds the record of a run and drops those beyond keep. A + in front says that it may share another's.
local function record(runs, run, keep, expiry)
  if string.sub(run, 1, 1) == '+' then run = join(runs, string.sub(run, 2)) end
  if redis.call('LPUSH', runs, run) > keep then
    redis.call('LTRIM', runs, 0, keep - 1)
  end
  redis.call('PEXPIRE', runs, expiry)
end

-- jobOf is the job that the ID of a run names.
local function jobOf(id) return string.match(id, '^(.*)@[^@]*$') or '' end

-- note sorts jobs that have a new record: failed says of each whether that says of a failure. A job that is known is in latest
-- or in never; of others no note is made.
local function note(failed, latest, failing, never, t)
  local jobs, last, bad, good = {}, {}, {}, {}
  for job in pairs(failed) do
    jobs[#jobs + 1] = job
    last[#last + 1], last[#last + 2] = int(t), job
    if not failed[job] then good[#good + 1] = job end
  end
  if jobs[1] and redis.call('EXISTS', never) == 1 then
    local first, left = {}, {}
    for i, waits in ipairs(scores(never, jobs)) do
      if waits then
        first[#first + 1], first[#first + 2] = int(t), jobs[i]
        left[#left + 1] = jobs[i]
      end
    end
    write('ZREM', never, left)
    write('ZADD', latest, first)
  end
  chunked(last, function(...) redis.call('ZADD', latest, 'XX', ...) end)
  if good[1] and redis.call('EXISTS', failing) == 1 then write('ZREM', failing, good) end
  if #good == #jobs then return end
  for i, known in ipairs(scores(latest, jobs)) do
    if known and failed[jobs[i]] then bad[#bad + 1], bad[#bad + 2] = '0', jobs[i] end
  end
  write('ZADD', failing, bad)
end
