-- Ends runs in flight, keeps their records, and puts what is to follow in flight in their place.
--
-- KEYS  1 flight, 2 owner, 3 begun, 4 alive, 5 notices, 6… one list of records for each run with a record
-- ARGV  1 expiry (ms), 2 lease (µs), then nine for each run: run, its owner, '1' to end it only if that is not alive,
--       record (JSON; '': none), records to keep, notice for the owner (JSON; '': none), and what follows: run ('':
--       nothing), its owner, its JSON
-- Returns for each run
--         1  done, now or by an earlier call
--         0  it is not in flight under this owner, or the owner is alive
local t = now()
local answer, leases, records = {}, {}, 6

local function finish(at)
  local id, owner, orphan = ARGV[at], ARGV[at + 1], ARGV[at + 2]
  local nextID, nextOwner = ARGV[at + 6], ARGV[at + 7]
  if nextID ~= '' and (nextID ~= id or nextOwner ~= owner) and redis.call('HGET', KEYS[2], nextID) == nextOwner then
    return 1
  end
  if redis.call('HGET', KEYS[2], id) ~= owner then return 0 end
  if orphan == '1' and tonumber(redis.call('HGET', KEYS[4], owner) or 0) > t then return 0 end
  redis.call('HDEL', KEYS[1], id)
  redis.call('HDEL', KEYS[2], id)
  redis.call('HDEL', KEYS[3], id)
  local told = redis.call('HGET', KEYS[5], id)
  if told and nextID == id then
    redis.call('HSET', KEYS[5], id, (string.gsub(told, '^(%d+) %S+', '%1 ' .. nextOwner)))
  elseif told then
    redis.call('HDEL', KEYS[5], id)
  end
  if ARGV[at + 5] ~= '' then redis.call('HSET', KEYS[5], id, int(t) .. ' ' .. owner .. ' ' .. ARGV[at + 5]) end
  if ARGV[at + 3] ~= '' then record(KEYS[records], ARGV[at + 3], tonumber(ARGV[at + 4]), ARGV[1]) end
  if nextID ~= '' then
    redis.call('HSET', KEYS[1], nextID, ARGV[at + 8])
    redis.call('HSET', KEYS[2], nextID, nextOwner)
    leases[nextOwner] = true
  end
  return 1
end

for at = 3, #ARGV, 9 do
  answer[#answer + 1] = finish(at)
  if ARGV[at + 3] ~= '' then records = records + 1 end
end
extend(KEYS[4], leases, t, ARGV[2])
return answer
