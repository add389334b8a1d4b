-- Makes jobs known, and notes which definitions of them a session has; see Store.Register. Jobs that nobody has registered
-- for too long are forgotten, some at a time.
--
-- KEYS  1 cursors, 2 seen, 3 paused, 4 missed, 5 specs, 6 madeup, 7 epochs, 8 owed, 9 names, 10 texts, 11 latest, 12 never,
--       13 failing, 14 pausing, 15 missing, 16 totals
-- ARGV  1 expiry (ms), 2 session, 3 for how long after its registration a session counts as alive (µs), 4 an epoch, for those
--       that change, 5 definitions to keep, 6 changes of timings to keep, 7 number of sessions that are alive, they, and then
--       nine for each job: job, program, timing, definition (both JSON), version that the session knows ('0': none), cursor
--       that it knows (µs; '0': none), '1' if it is to have none, what is owed
--       by that cursor ('?': not known), what a search looks into
-- Returns for each job its version ('': refused), and the program that it is refused for
--
-- A spec is {epoch, timings = {{since, timing}, …}, defs = {{v, program, timing, def}, …}, offers = {session = {v, program, at}}, seen,
-- text = version that its search text is of}.
-- Times in it are texts: cjson would round them.
local t, me, grace = now(), ARGV[2], tonumber(ARGV[3])
local alive, jobs, first = { [me] = true }, {}, 8 + tonumber(ARGV[7])
for i = 8, first - 1 do alive[ARGV[i]] = true end
for at = first, #ARGV, 9 do jobs[#jobs + 1] = ARGV[at] end
local cursors, specs, madeUp = mget(KEYS[1], jobs), mget(KEYS[5], jobs), mget(KEYS[6], jobs)
local owed = mget(KEYS[8], jobs)

-- both is what the store and a session that knows its cursor say is owed: as long as that stays, less and less is. What was
-- due before the store made the cursor up the session may not know.
local function both(a, b, made)
  local froms, spans = {}, {}
  for from, to in string.gmatch(b, '(%d+) (%d+)') do froms[to] = from end
  for from, to in string.gmatch(a, '(%d+) (%d+)') do
    if froms[to] then
      spans[#spans + 1] = (tonumber(froms[to]) > tonumber(from) and froms[to] or from) .. ' ' .. to
    elseif made and tonumber(to) <= tonumber(made) then
      spans[#spans + 1] = from .. ' ' .. to
    end
  end
  return table.concat(spans, ';')
end

-- What changes is written at the end, each hash in one command.
local set, unset = {}, {}
for i, _ in ipairs(KEYS) do set[i], unset[i] = {}, {} end

local function put(key, job, value)
  local list = set[key]
  list[#list + 1], list[#list + 2] = job, value
end

local function drop(key, job) unset[key][#unset[key] + 1] = job end

local function owe(i, job, debt)
  if debt ~= '' then put(8, job, debt) elseif owed[i] then drop(8, job) end
  owed[i] = debt
end

-- reachBack has the first timing begin where what is owed does, if it began with the cursor that the store made up.
local function reachBack(i, spec)
  local first = spec.timings[1]
  if first and first.since == madeUp[i] then first.since = owed[i] and string.match(owed[i], '^%d+') or cursors[i] end
end

-- oweBefore takes in what a session knows that comes after others have moved a cursor that the store had made up: what was due
-- between its cursor and that one is owed. Of several sessions the one with the latest cursor is right.
local function oweBefore(i, job, spec, known, debt)
  local made, here = madeUp[i], owed[i] or ''
  if spec.timings[1] and spec.timings[1].since == made then
    local spans = debt ~= '?' and debt ~= '' and debt .. ';' or ''
    owe(i, job, spans .. known .. ' ' .. made .. (here ~= '' and ';' .. here or ''))
    reachBack(i, spec)
    return
  end
  local spans = {}
  for from, to in string.gmatch(here, '(%d+) (%d+)') do
    spans[#spans + 1] = (to == made and tonumber(from) < tonumber(known) and known or from) .. ' ' .. to
  end
  if here ~= '' then owe(i, job, table.concat(spans, ';')) end
end

local function lift(i, job, spec, known, debt)
  local cursor, made = cursors[i], madeUp[i]
  if not cursor then
    cursors[i] = known ~= '0' and known or int(t)
    if known == '0' then put(6, job, cursors[i]) end
  elseif tonumber(known) > tonumber(cursor) or made == cursor and known ~= '0' then
    cursors[i] = known
  end
  if cursors[i] ~= cursor then
    put(1, job, cursors[i])
    owe(i, job, debt ~= '?' and debt or '')
    if made == cursor then reachBack(i, spec) end
  elseif debt ~= '?' and known == cursor and owed[i] and owed[i] ~= '' then
    owe(i, job, both(owed[i], debt, made))
  elseif made and known ~= '0' and tonumber(known) < tonumber(made) then
    oweBefore(i, job, spec, known, debt)
  end
  if made and (cursors[i] ~= cursor or tonumber(made) < t - 3600000000) then drop(6, job) end
end

local function number(spec, program, timing, def, known)
  local top, free = 0, known > 0
  for _, d in ipairs(spec.defs) do
    if d.def == def then return d.v end
    top, free = math.max(top, d.v), free and d.v ~= known
  end
  local v = free and known or top + 1
  spec.defs[#spec.defs + 1] = { v = v, program = program, timing = timing, def = def }
  table.sort(spec.defs, function(a, b) return a.v < b.v end)
  return v
end

-- newest is the version that is in force.
local function newest(spec)
  local top = 0
  for _, o in pairs(spec.offers) do top = math.max(top, o.v) end
  return top
end

local function enforce(job, spec, from)
  local top, timing = newest(spec), nil
  for _, d in ipairs(spec.defs) do
    if d.v == top then timing = d.timing end
  end
  local timings = spec.timings
  if not timings[1] or timings[#timings].timing ~= timing then
    timings[#timings + 1] = { since = not timings[1] and from or int(t), timing = timing }
    spec.epoch = ARGV[4]
    put(7, job, spec.epoch)
  end
  while timings[2] and (tonumber(timings[2].since) <= tonumber(from or 0) or #timings > tonumber(ARGV[6])) do table.remove(timings, 1) end
  while #spec.defs > tonumber(ARGV[5]) and spec.defs[1].v ~= top do table.remove(spec.defs, 1) end
end

local answer = {}
local latest = scores(KEYS[11], jobs)
for i, job in ipairs(jobs) do
  local at = first + (i - 1) * 9
  local program, handler, refused = ARGV[at + 1], ARGV[at + 6] == '1', ''
  local spec = specs[i] and cjson.decode(specs[i]) or { epoch = '', timings = {}, defs = {}, offers = {} }
  for session, o in pairs(spec.offers) do
    if not alive[session] and t - tonumber(o.at) > grace then
      spec.offers[session] = nil
    elseif o.program ~= program and o.program > refused then
      refused = o.program
    end
  end
  local v = ''
  if refused == '' then
    if not handler then lift(i, job, spec, ARGV[at + 5], ARGV[at + 7]) end
    v = number(spec, program, ARGV[at + 2], ARGV[at + 3], tonumber(ARGV[at + 4]))
    spec.offers[me] = { v = v, program = program, at = int(t) }
    if v == newest(spec) and spec.text ~= v then
      spec.text = v
      put(10, job, ARGV[at + 8])
    end
    spec.seen = int(t)
    enforce(job, spec, owed[i] and string.match(owed[i], '^%d+') or cursors[i])
    put(5, job, cjson.encode(spec))
    put(2, int(t), job)
    if not specs[i] then put(9, '0', job) end
    if not latest[i] then put(12, '0', job) end
  end
  answer[#answer + 1] = tostring(v)
  answer[#answer + 1] = refused
end
for _, i in ipairs({ 1, 5, 6, 7, 8, 10 }) do
  write('HSET', KEYS[i], set[i])
  write('HDEL', KEYS[i], unset[i])
end
for _, i in ipairs({ 2, 9, 12 }) do write('ZADD', KEYS[i], set[i]) end

local old = redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', int(t - ARGV[1] * 1000), 'LIMIT', 0, 100)
for _, job in ipairs(old) do
  local missed = redis.call('ZSCORE', KEYS[4], job)
  if missed then redis.call('HINCRBY', KEYS[16], 'missed', '-' .. missed) end
  for _, i in ipairs({ 2, 4, 9, 11, 12, 13, 14, 15 }) do redis.call('ZREM', KEYS[i], job) end
  for _, i in ipairs({ 1, 3, 5, 6, 7, 8, 10 }) do redis.call('HDEL', KEYS[i], job) end
end
for _, key in ipairs(KEYS) do redis.call('PEXPIRE', key, ARGV[1]) end
return answer
