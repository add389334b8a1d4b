-- Ends somebody else's lease: marks it, so that it is not renewed, and tells its process, which ends it and gives it
-- back. What MinHold keeps for nobody goes on at once, and so does any by force.
--
-- KEYS  lock, queue, waiters, floor, holders, held
-- ARGV  1 lease id ("-": MinHold keeps the lock or the slot), 2 its epoch, 3 reason, 4 retention (ms), 5 by force (1 or 0)
-- Returns 1 broken, 0 that lease has neither the lock nor a share: nothing was changed
local retention = tonumber(ARGV[4])

local lock = redis.call('GET', KEYS[1])
if not lock then
  return 0
end
local id, epoch, since, _, channel, node = parse(lock)
local lease = string.match(id, '^(.*)~[rp]%d*$') or id -- a node of before makes readers owners
local left = redis.call('PTTL', KEYS[1])
local mixed = false
if string.sub(id, 1, 1) ~= '*' then
  if lease ~= ARGV[1] or epoch ~= ARGV[2] then
    return 0
  end
  touch(KEYS[1])
  -- Move on from the broken epoch even if nobody acquires the lock again soon.
  redis.call('SET', KEYS[4], int(epoch + 1), 'PX', int(retention + left))
  redis.call('SET', KEYS[1], table.concat({ id, epoch, since, '0', channel, node }, ' '), 'KEEPTTL')
  if id ~= '-' then
    publish(channel, table.concat({ 'lost', lease, #KEYS[1], KEYS[1], ARGV[3] }, ' '))
  end
  if id == '-' or ARGV[5] == '1' then
    mixed = release(KEYS[1], KEYS[2], KEYS[3], KEYS[4], retention, now())
  end
  if not mixed then
    return 1
  end
end
-- shared.lua is inserted here

local K, t = keysOf(KEYS), now()
local s, before = look(K, t), ends(K, t)
if mixed then
  s.alone, s.vacant = false, true
  admit(K, retention, t, s, before)
  return 1
end

-- named returns the holder that is meant, and until when its share lasts.
local function named()
  for _, holder in ipairs(living(K, t, 0, -1)) do
    local lease, its = string.match(holder, '^%S+'), s.generation
    if s.kind == 'p' then
      its = string.match(redis.call('HGET', K.held, holder) or '', '^%d+')
    end
    if (lease == ARGV[1] or ARGV[1] == '-' and string.sub(lease, 1, 1) == '-') and its == ARGV[2] then
      return holder, share(K.holders, t, holder)
    end
  end
end

local holder, till = named()
if not holder then
  return 0
end
touch(K.lock)
local floor = math.max(epochOf(redis.pcall('GET', K.floor)), ARGV[2] + 1)
redis.call('SET', K.floor, int(floor), 'PX', int(retention + left))
if ARGV[1] ~= '-' then
  local _, its = string.match(holder, '^(%S+) (%S+)')
  publish(its, table.concat({ 'lost', ARGV[1], #K.lock, K.lock, ARGV[3] }, ' '))
  redis.call('ZADD', K.holders, int(till) .. '.5', holder)
end
if ARGV[1] == '-' or ARGV[5] == '1' then
  leave(K, t, s, holder)
  admit(K, retention, t, s, before)
end
return 1
