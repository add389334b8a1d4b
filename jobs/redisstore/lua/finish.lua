-- Ends runs in flight, keeps their records, and puts what is to follow in flight in their place.
--
-- KEYS  1 flight, 2 owner, 3 begun, 4 alive, 5 notices, 6 failures, 7 latest, 8 failing, 9 never, 10… one
--       list of records for each run with a record
-- ARGV  1 expiry (ms), 2 lease (µs), 3 how many failures to keep, then eleven for each run: run, its owner, '1' to end it only
--       if that is not alive, record (see record; '': none; '!' in front: it failed), records to keep, notice for the owner (JSON; '': none), and what follows: run
--       ('': nothing), its owner, its JSON; when the run has begun at the latest (µs; '': that does not
--       matter), and up to when its begins are void from now on (µs; '': none)
-- Returns for each run
--         1  done, now or by an earlier call
--         0  it is not in flight under this owner, or the owner is alive, or it has begun later
--         or the notice (JSON) of somebody who wanted it to end: all is done, but what follows
local t = now()
local answer, leases, records, ended = {}, {}, 10, {}

-- What is in flight, as far as this call asks; it is written at the end.
local ids, owners, runs, changed = {}, {}, {}, {}
for at = 4, #ARGV, 11 do
  ids[#ids + 1] = ARGV[at]
  if ARGV[at + 6] ~= '' then ids[#ids + 1] = ARGV[at + 6] end
end
for i, owner in ipairs(mget(KEYS[2], ids)) do owners[ids[i]] = owner end

local function put(id, owner, run)
  if runs[id] == nil then changed[#changed + 1] = id end
  owners[id], runs[id] = owner, run
end

local told = redis.call('EXISTS', KEYS[5]) == 1

-- tell returns the notice of somebody who wanted the run to end, unless it goes on under its ID, and leaves one for its owner.
local function tell(id, owner, goesOn, notice)
  local asked = not goesOn and told and cancelled(KEYS[5], id)
  if told and not goesOn then redis.call('HDEL', KEYS[5], id) end
  if notice ~= '' then
    redis.call('HSET', KEYS[5], id, int(t) .. ' ' .. owner .. ' ' .. notice)
    told = true
  end
  return asked
end

-- hasBegun reports whether a run has begun after a time. What this call puts in flight has not.
local function hasBegun(id, known)
  local begin = known ~= '' and runs[id] == nil and redis.call('HGET', KEYS[3], id)
  return begin and tonumber(string.match(begin, '^%S+')) > tonumber(known)
end

local function finish(at)
  local id, owner, orphan, nextID, nextOwner = ARGV[at], ARGV[at + 1], ARGV[at + 2], ARGV[at + 6], ARGV[at + 7]
  if nextID ~= '' and (nextID ~= id or nextOwner ~= owner) and owners[nextID] == nextOwner then return 1 end
  if owners[id] ~= owner then return 0 end
  if orphan == '1' and tonumber(redis.call('HGET', KEYS[4], owner) or 0) > t then return 0 end
  if hasBegun(id, ARGV[at + 9]) then return nextID == id and nextOwner == owner and 1 or 0 end
  put(id, false, false)
  local asked, run = tell(id, owner, nextID == id, ARGV[at + 5]), ARGV[at + 3]
  local failed = string.sub(run, 1, 1) == '!'
  if failed then run = string.sub(run, 2) end
  if asked and run ~= '' then
    run = string.gsub(run, '^%+', '')
    run = string.sub(run, 1, -2) .. ',"cancelAsked":' .. asked .. '}'
  end
  if run ~= '' then
    record(KEYS[records], run, tonumber(ARGV[at + 4]), ARGV[1])
    ended[jobOf(id)] = failed
  end
  if failed then record(KEYS[6], run, tonumber(ARGV[3]), ARGV[1]) end
  if asked then return asked end
  if ARGV[at + 10] ~= '' and not cancelled(KEYS[5], id) then
    redis.call('HSET', KEYS[5], nextID, int(t) .. ' ! ' .. ARGV[at + 10])
    told = true
  end
  if nextID ~= '' then
    put(nextID, nextOwner, ARGV[at + 8])
    leases[nextOwner] = true
  end
  return 1
end

for at = 4, #ARGV, 11 do
  answer[#answer + 1] = finish(at)
  if ARGV[at + 3] ~= '' then records = records + 1 end
end
local gone, flights, owned = {}, {}, {}
for _, id in ipairs(changed) do
  if runs[id] then
    flights[#flights + 1], flights[#flights + 2] = id, runs[id]
    owned[#owned + 1], owned[#owned + 2] = id, owners[id]
  else
    gone[#gone + 1] = id
  end
end
for i = 1, 2 do write('HDEL', KEYS[i], gone) end
write('HDEL', KEYS[3], changed)
write('HSET', KEYS[1], flights)
write('HSET', KEYS[2], owned)
extend(KEYS[4], leases, t, ARGV[2])
note(ended, KEYS[7], KEYS[8], KEYS[9], t)
return answer
