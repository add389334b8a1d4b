-- Gives a sign of life of a session in one shard, and tells it what it is to know.
--
-- KEYS  1 flight, 2 owner, 3 begun, 4 alive, 5 notices, 6 oneoffs, 7 due, 8 stamp, 9 paused, and all other keys of the shard
-- ARGV  1 session, 2 lease (µs; 0: the session ends), 3 up to when one-off jobs are wanted (µs from now), 4 how many
--       orphans and one-off jobs at most, 5 how long notices are kept (µs), 6 expiry of the keys (ms; '': leave them), 7 a stamp, for a
--       shard without one, 8 stamp, 9 time (µs), 10 number and 11 version of pauses that the session's last heartbeat was told ('': none
--       was), and from 12 on one-off jobs that the session believes to wait
-- Returns {now (µs), runs of the session, {run, owner, begun or '', JSON of each orphan}, {notices}, {one-off jobs}, stamp,
--          '1' if the shard does not know of the session's last heartbeat, version of pauses, {job, its pause, …; empty if the
--          version is the one that was told}, {sessions with a heartbeat within the lease}, {those of the one-off jobs that do not
--          wait}, number of the heartbeat}
--
-- Where there are too many orphans or one-off jobs, each heartbeat tells of others: those that no node takes must not keep the
-- rest from being told.
local t = now()
local day = 86400000000 -- for that long the end of a session is remembered
local me, lease, limit = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[4])

-- Whether this is the shard that the session knows. Heartbeats are counted, as the clock may be set back. A session that was
-- silent for a day is over, and has been forgotten.
redis.call('HSETNX', KEYS[8], 'id', ARGV[7])
local id, pv, number = unpack(redis.call('HMGET', KEYS[8], 'id', 'pv', 'n:' .. me))
number = tonumber(number or 0)
local lost = ARGV[8] ~= '' and t - tonumber(ARGV[9]) < day and (id ~= ARGV[8] or number < tonumber(ARGV[10])) and '1' or '0'
if lease == 0 then
  redis.call('HDEL', KEYS[8], 'at:' .. me, 'n:' .. me)
else
  number = number + 1
  redis.call('HSET', KEYS[8], 'at:' .. me, int(t), 'n:' .. me, int(number))
end
local peers = {}
local heartbeats = redis.call('HGETALL', KEYS[8])
for i = 1, #heartbeats, 2 do
  if string.sub(heartbeats[i], 1, 3) == 'at:' then
    local age = t - tonumber(heartbeats[i + 1])
    if age <= lease then
      peers[#peers + 1] = string.sub(heartbeats[i], 4)
    elseif ARGV[6] ~= '' and age > day then
      redis.call('HDEL', KEYS[8], heartbeats[i], 'n:' .. string.sub(heartbeats[i], 4))
    end
  end
end
pv = pv or ''
local pauses = {}
if pv ~= ARGV[11] or lost == '1' then pauses = redis.call('HGETALL', KEYS[9]) end

-- Who is dead, and whether this session has runs here.
local untils, dead, here = {}, {}, false
local leases = redis.call('HGETALL', KEYS[4])
for i = 1, #leases, 2 do
  if leases[i] == me then
    here = true
    redis.call('HSET', KEYS[4], me, lease == 0 and '0' or int(t + lease))
  elseif tonumber(leases[i + 1]) <= t then
    dead[leases[i]] = true
  else
    untils[leases[i]] = true
  end
end

-- The runs tell whom nobody needs to remember, and owners of whom nothing is known are dead.
local held, ids, left, ownerOf = 0, {}, {}, {}
local owners = redis.call('HGETALL', KEYS[2])
for i = 1, #owners, 2 do
  local owner = owners[i + 1]
  left[owner], ownerOf[owners[i]] = true, owner
  if owner == me then
    held = held + 1
  elseif not untils[owner] then
    ids[#ids + 1] = owners[i]
  end
end

-- Where the part of a list begins, of so many with so many in each, that it is the turn of.
local function turn(count, size)
  return number % math.max(math.ceil(count / size), 1) * size
end
local from = turn(#ids, limit)
for owner in pairs(dead) do
  if not left[owner] then redis.call('HDEL', KEYS[4], owner) end
end
if here and lease == 0 and held == 0 then redis.call('HDEL', KEYS[4], me) end
local orphans = {}
for i = from + 1, math.min(from + limit, #ids) do
  local id = ids[i]
  orphans[#orphans + 1] = id
  orphans[#orphans + 1] = redis.call('HGET', KEYS[2], id)
  orphans[#orphans + 1] = redis.call('HGET', KEYS[3], id) or ''
  orphans[#orphans + 1] = redis.call('HGET', KEYS[1], id) or ''
end

local mine = {}
local notices = redis.call('HGETALL', KEYS[5])
for i = 1, #notices, 2 do
  local at, owner, text = string.match(notices[i + 1], '^(%d+) (%S+) (.*)$')
  if tonumber(at) + tonumber(ARGV[5]) < t and not ownerOf[notices[i]] then
    redis.call('HDEL', KEYS[5], notices[i])
  elseif owner == me or owner == '*' and ownerOf[notices[i]] == me then
    mine[#mine + 1] = text
  end
end

if ARGV[6] ~= '' then
  for _, key in ipairs(KEYS) do redis.call('PEXPIRE', key, ARGV[6]) end
end
local soon, ahead = {}, int(t + ARGV[3])
local function tell(first, count)
  for _, id in ipairs(redis.call('ZRANGEBYSCORE', KEYS[7], '-inf', ahead, 'LIMIT', first, count)) do soon[#soon + 1] = id end
end
local rest = redis.call('ZCOUNT', KEYS[7], '-inf', ahead) - limit / 2
if rest <= limit / 2 then
  tell(0, limit)
else -- the first ones, and others in turn
  tell(0, limit / 2)
  tell(limit / 2 + turn(rest, limit / 2), limit / 2)
end
local over = {}
for i = 12, #ARGV do
  if not redis.call('ZSCORE', KEYS[7], ARGV[i]) then over[#over + 1] = ARGV[i] end
end
return { int(t), held, orphans, mine, mget(KEYS[6], soon), id, lost, pv, pauses, peers, over, int(number) }
