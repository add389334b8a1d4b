-- Notes that runs in flight begin.
--
-- KEYS  1 owner, 2 begun, 3 alive, 4 notices
-- ARGV  1 lease (µs), then three for each run: run, its owner, when (µs) and fence with a blank between them
-- Returns for each run
--         1  done, or it comes late: a later begin stands
--         0  it is not in flight under this owner, or was given up after this begin
--         or the notice (JSON) of somebody who wants it to end
local told = redis.call('EXISTS', KEYS[4]) == 1
local ids, answer, begun, leases, stands = {}, {}, {}, {}, {}
for i = 2, #ARGV, 3 do ids[#ids + 1] = ARGV[i] end
for i, begin in ipairs(mget(KEYS[2], ids)) do stands[ids[i]] = begin end

local function micros(begin) return tonumber(string.match(begin, '^%S+')) end

local function isVoid(id, begin)
  local last = told and void(KEYS[4], id)
  return last and micros(begin) <= tonumber(last)
end

for i, owner in ipairs(mget(KEYS[1], ids)) do
  local at = 2 + (i - 1) * 3
  answer[i] = 0
  if owner == ARGV[at + 1] and not isVoid(ids[i], ARGV[at + 2]) then
    answer[i] = told and cancelled(KEYS[4], ids[i]) or 1
  end
  if answer[i] == 1 then
    local stand = stands[ids[i]]
    if not stand or micros(stand) <= micros(ARGV[at + 2]) then
      stands[ids[i]] = ARGV[at + 2]
      begun[#begun + 1] = ids[i]
      begun[#begun + 1] = ARGV[at + 2]
    end
    leases[owner] = true
  end
end
add(KEYS[2], begun)
extend(KEYS[3], leases, now(), ARGV[1])
return answer
