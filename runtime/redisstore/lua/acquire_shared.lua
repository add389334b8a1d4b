-- Takes a lock or a share of it for a lease of any kind, or queues it. Also the waiter's poke: it may be repeated at
-- any time. Leases that are exclusive come here when acquire.lua says so.
--
-- KEYS  lock, queue, waiters, floor, holders, held
-- ARGV  1 ttl (ms), 2 ttl + retention (ms), 3 liveness (ms; 0: do not queue), 4 "<channel> <node>",
--       5 latest (µs): the call changes nothing when the server's clock is past it, 6 lease id,
--       7 "~r" for a reader, "~p<n>" for one of n permits, "" for a writer
-- Returns epoch                                               it is the first reader, from this moment on
--         {1, epoch, since (µs), now (µs), ttl (ms)[, slot]}  it has the lock or a share, since then and for so long
--         {0, remaining (ms), now (µs), a holder's node, how many share it, a hundred at the most}
--                                                             it does not fit; it is queued if liveness is not 0. The
--                                                             node is empty if MinHold keeps all shares for nobody.
--         {2, now (µs)}                                       the call came too late
--         {3, now (µs)}                                       it had the lock or a share, and was broken
local time = redis.call('TIME')
local now = time[1] .. string.sub('00000' .. time[2], -6)
local t, ttl, keep = tonumber(now), ARGV[1], ARGV[2]
if t > tonumber(ARGV[5]) then
  return { 2, t }
end
-- What happens nearly always, in as few calls as possible: a reader, nobody waits, the lock is free or has readers.
if ARGV[7] == '~r' and redis.call('EXISTS', KEYS[2]) == 0 then
  local lock, holder = redis.call('GET', KEYS[1]), ARGV[6] .. ' ' .. ARGV[4]
  local ends = string.format('%.0f', math.floor(t / 1000) + ttl)
  if not lock then
    local was, epoch = redis.pcall('SET', KEYS[4], now, 'PX', keep, 'GET'), now
    if type(was) == 'table' then
      return was -- another program's key is in the way
    end
    local floor = tonumber(was or 0)
    if floor and floor >= t and floor < 9007199254740991 then
      epoch = string.format('%.0f', floor + 1)
      redis.call('SET', KEYS[4], epoch, 'PX', keep)
    end
    redis.call('DEL', KEYS[5])
    local node = string.match(ARGV[4], ' (.*)$')
    redis.call('SET', KEYS[1], '*r ' .. epoch .. ' ' .. now .. ' ' .. ttl .. ' - ' .. node, 'PX', ttl)
    redis.call('ZADD', KEYS[5], ends, holder)
    redis.call('PEXPIRE', KEYS[5], ttl)
    return epoch == now and t or { 1, tonumber(epoch), t, t, tonumber(ttl) }
  end
  local generation = string.match(lock, '^%*r (%d+) %d+ [1-9]')
  if generation and (t - generation) / 1000 <= (keep - ttl) / 2
    and redis.call('ZADD', KEYS[5], 'NX', ends, holder) == 1 then
    if redis.call('PTTL', KEYS[1]) < tonumber(ttl) then
      redis.call('PEXPIRE', KEYS[1], ttl)
      redis.call('PEXPIRE', KEYS[5], ttl)
    end
    return { 1, tonumber(generation), t, t, tonumber(ttl) }
  end
end
-- lib.lua is inserted here
-- shared.lua is inserted here

local K, liveness, retention = keysOf(KEYS), tonumber(ARGV[3]), keep - ttl
local lease, id = ARGV[6], ARGV[6] .. ARGV[7]
local channel, node = string.match(ARGV[4], '^(%S+) (.*)$')

-- has is the answer to a lease that has the lock or a share of it already, also after a downgrade.
local function has()
  local lock, holder = redis.call('GET', K.lock), lease .. ' ' .. ARGV[4]
  if alone(lock, lease) then
    local _, epoch, since, granted = parse(lock)
    if granted == '0' then
      return { 3, t }
    end
    return { 1, tonumber(epoch), tonumber(since), t, tonumber(granted) }
  end
  local kind, generation, allBroken = sharedBy(lock)
  local till, isBroken = nil, nil
  if kind then
    till, isBroken = share(K.holders, t, holder)
  end
  if kind == 'p' and not till and share(K.holders, t, '-' .. lease .. ' - ') then
    return { 2, t } -- it was released, and MinHold keeps its slot
  end
  if not till then
    return nil
  end
  if allBroken or isBroken then
    return { 3, t }
  end
  local left = math.max(till - math.floor(t / 1000), 1)
  if kind == 'r' then
    return { 1, tonumber(generation), t, t, left }
  end
  local epoch, slot = string.match(redis.call('HGET', K.held, holder), '^(%d+) .* (%d+)$')
  return { 1, tonumber(epoch), t, t, left, tonumber(slot) }
end

local answer = has()
if answer then
  return answer
end
local s = look(K, t)
if redis.call('EXISTS', K.queue) == 1 then
  admit(K, retention, t, s, ends(K, t)) -- that may be this one's turn
  answer = has()
  if answer then
    return answer
  end
  s = look(K, t)
end
if redis.call('EXISTS', K.queue) == 0 and fits(K, t, s, id) then
  local epoch, slot = join(K, retention, t, s, id, ttl, channel, node)
  return { 1, epoch, t, t, tonumber(ttl), slot }
end
if liveness > 0 then
  if redis.call('ZSCORE', K.queue, id) then
    touch(K.queue) -- who stands in the queue keeps its place when memory is short
  else
    redis.call('ZADD', K.queue, redis.call('HINCRBY', K.waiters, '#', 1), id)
    if s.kind == 'r' and kindOf(id) ~= 'r' and redis.call('ZRANGE', K.queue, 0, 0)[1] == id then
      recall(living(K, t, 0, 100))
    end
  end
  redis.call('HSET', K.waiters, id, ttl .. ' ' .. ARGV[4], '@' .. channel, int(math.floor(t / 1000) + liveness))
  keepQueue(K.queue, K.waiters, liveness)
end
local left = wayOff(ends(K, t), id)
if not s.kind then
  local _, _, _, _, _, holder = parse(redis.call('GET', K.lock))
  return { 0, left, t, holder, 0 }
end
local holders, holder = living(K, t, 0, 100), nil
for i = #holders, 1, -1 do
  holder = string.match(holders[i], '^[^-]%S* %S+ (.*)$') or holder -- MinHold keeps the others for nobody
end
return { 0, left, t, holder or '', #holders }
