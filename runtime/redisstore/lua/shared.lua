-- Functions for locks that readers or permits share, behind those of lib.lua. K holds the six keys of a lock by name.
--
-- A lock that is shared is the string  "*r <generation> <since> <ttl> - <node>"  or "*p …", and lasts as long as the
-- last who has a share. Nodes of before take it for a lease of somebody else. The generation is the epoch of all
-- readers, and of permits the last; a ttl of 0 says that such a node broke it.
--
-- The holders are a sorted set of "<lease id> <channel> <node>" by the end of their shares: the last ms of the server's
-- clock that belongs to them, and half a ms more once one is broken. They count only behind a "*": what is left over
-- from before is removed when the next generation begins. "-<lease id> - " is a slot that MinHold keeps for nobody.
--
-- The held hash has for each permit its holder = "<epoch> <since> <limit> <slot>" and "s<slot>" = its holder. Only who
-- is among the holders counts there.

local function keysOf(keys)
  return { lock = keys[1], queue = keys[2], waiters = keys[3], floor = keys[4], holders = keys[5], held = keys[6] }
end

-- kindOf returns what an id in the queue asks for, 'w', 'r' or 'p', the limit of a permit, and the lease's id.
local function kindOf(id)
  local lease, kind, limit = string.match(id, '^(.*)~([rp])(%d*)$')
  if not kind then
    return 'w', nil, id
  end
  return kind, tonumber(limit), lease
end

-- sharedBy returns 'r' or 'p' for a lock that is shared, its generation, and whether all of it was broken.
local function sharedBy(lock)
  local kind, generation, ttl = string.match(lock or '', '^%*([rp]) (%d+) %d+ (%d+) ')
  return kind, generation, ttl == '0'
end

-- alone reports whether a lease owns the lock alone. A node of before makes readers and permits such owners.
local function alone(lock, id)
  if not lock then
    return false
  end
  local kind, _, lease = kindOf(string.match(lock, '^%S+'))
  return mine(lock, id) or kind ~= 'w' and lease == id
end

-- living returns who has a share, from the one that ends first.
local function living(K, t, from, count)
  return redis.call('ZRANGE', K.holders, int(math.floor(t / 1000)), '+inf', 'BYSCORE', 'LIMIT', from, count)
end

-- share returns the end of a holder's share, and whether it is broken; nil if it has none.
local function share(holdersKey, t, holder)
  local ends = tonumber(redis.call('ZSCORE', holdersKey, holder) or -1)
  if ends < math.floor(t / 1000) then
    return nil
  end
  return math.floor(ends), ends % 1 ~= 0
end

-- sweep removes those whose shares are over, where others have one.
local function sweep(K, t, kind)
  local over = '(' .. int(math.floor(t / 1000))
  for _, holder in ipairs(redis.call('ZRANGE', K.holders, '-inf', over, 'BYSCORE', 'LIMIT', 0, 100)) do
    if kind == 'p' then
      redis.call('HDEL', K.held, holder)
    end
    redis.call('ZREM', K.holders, holder)
  end
end

-- look returns the state that admissions depend on: alone (somebody owns the lock), or vacant (nobody has a share), or
-- the kind, generation and broken of a lock that is shared.
local function look(K, t)
  local lock = redis.call('GET', K.lock)
  local kind, generation, isBroken = sharedBy(lock)
  local vacant = not lock or kind and not living(K, t, 0, 1)[1]
  if kind and not vacant then
    sweep(K, t, kind)
  end
  return { alone = lock and not kind, vacant = vacant, kind = kind, generation = generation, broken = isBroken }
end

-- ends returns when the lease in the way is over (ms from now): the first of permits, and the last.
local function ends(K, t)
  local last = math.max(redis.call('PTTL', K.lock), 0)
  if sharedBy(redis.call('GET', K.lock)) ~= 'p' then
    return { last = last }
  end
  local first = living(K, t, 0, 1)[1]
  if not first then
    return { first = 0, last = last }
  end
  return { first = math.floor(redis.call('ZSCORE', K.holders, first)) - math.floor(t / 1000), last = last }
end

local function wayOff(e, id)
  return kindOf(id) == 'p' and e.first or e.last
end

-- fits reports whether a lease can join those that hold the lock.
local function fits(K, t, s, id)
  local kind, limit = kindOf(id)
  if s.vacant then
    return true
  end
  if s.alone or s.broken or kind ~= s.kind then
    return false
  end
  return kind == 'r' or not living(K, t, limit - 1, 1)[1]
end

-- settle makes a lock last as long as the last who has a share.
local function settle(K, t, kind)
  local last = redis.call('ZRANGE', K.holders, -1, -1, 'WITHSCORES')
  local left = int(math.max(math.floor(last[2]) - math.floor(t / 1000), 1))
  redis.call('PEXPIRE', K.lock, left)
  redis.call('PEXPIRE', K.holders, left)
  if kind == 'p' then
    redis.call('PEXPIRE', K.held, left)
  end
end

-- issue returns an epoch that is higher than all before.
local function issue(K, retention, t, ttl)
  local epoch = math.max(epochOf(redis.pcall('GET', K.floor)) + 1, t)
  redis.call('SET', K.floor, int(epoch), 'PX', int(retention + ttl))
  return epoch
end

-- keepFloor lets the floor outlive leases of a generation that lasts.
local function keepFloor(floorKey, retention, t, ttl, generation)
  if (t - generation) / 1000 > retention / 2 and redis.call('PEXPIRE', floorKey, int(retention + ttl)) == 0 then
    redis.pcall('SET', floorKey, generation, 'PX', int(retention + ttl))
  end
end

-- begin makes the lock one that is shared, with one holder. Keys that are needed again are never empty in between: see
-- handOn.
local function begin(K, t, s, kind, generation, ttl, node, holder)
  local before = redis.call('ZRANGE', K.holders, 0, -1)
  redis.call('SET', K.lock, table.concat({ '*' .. kind, int(generation), int(t), ttl, '-', node }, ' '), 'PX', ttl)
  redis.call('ZADD', K.holders, int(math.floor(t / 1000) + ttl), holder)
  for _, other in ipairs(before) do
    if other ~= holder then
      redis.call('ZREM', K.holders, other)
      if kind == 'p' then
        redis.call('HDEL', K.held, other)
      end
    end
  end
  s.kind, s.generation, s.broken, s.vacant, s.alone = kind, int(generation), false, false, false
end

-- freeSlot returns the lowest slot that no permit has. A holder whose share was over may have one again, in another slot:
-- its entry says in which.
local function freeSlot(K, t)
  local slot = 0
  while true do
    local holder = redis.call('HGET', K.held, 's' .. slot)
    local entry = holder and redis.call('HGET', K.held, holder)
    if not entry or string.match(entry, '%d+$') ~= tostring(slot) or not share(K.holders, t, holder) then
      return slot
    end
    slot = slot + 1
  end
end

-- join makes a lease that fits a holder for ttl ms, and returns its epoch and the slot of a permit. A reader has the
-- epoch of those it joins, so that readers do not fence each other out. A permit has an epoch of its own, and the
-- lowest slot that is free.
local function join(K, retention, t, s, id, ttl, channel, node)
  local kind, limit, lease = kindOf(id)
  if kind == 'w' then
    s.alone, s.vacant = true, false
    return take(K.lock, K.floor, retention, t, id, ttl, channel .. ' ' .. node)
  end
  local holder, epoch, slot = table.concat({ lease, channel, node }, ' '), nil, nil
  if s.vacant or kind == 'p' then
    epoch = issue(K, retention, t, ttl)
  else
    epoch = tonumber(s.generation)
    keepFloor(K.floor, retention, t, ttl, s.generation)
  end
  if kind == 'p' then
    slot = s.vacant and 0 or freeSlot(K, t)
    redis.call('HSET', K.held, holder, table.concat({ int(epoch), int(t), limit, slot }, ' '), 's' .. slot, holder)
  end
  if s.vacant then
    begin(K, t, s, kind, epoch, ttl, node, holder)
  else
    redis.call('ZADD', K.holders, int(math.floor(t / 1000) + ttl), holder)
    if kind == 'p' then -- a node of before that breaks it moves the floor on from what stands here
      redis.call('SET', K.lock, table.concat({ '*p', int(epoch), int(t), ttl, '-', node }, ' '), 'KEEPTTL')
    end
  end
  settle(K, t, kind)
  return epoch, slot
end

-- recall tells readers that somebody waits who cannot join them, a hundred at the most.
local function recall(holders)
  for _, holder in ipairs(holders) do
    local id, channel = string.match(holder, '^(%S+) (%S+)')
    publish(channel, 'recall ' .. id)
  end
end

-- admit lets those at the head of the queue in who fit: one writer, or all adjacent readers, or as many permits as are
-- free. Nobody overtakes who does not fit. A lock that nobody takes is freed. It stands for handOn where leases are not
-- all exclusive, and gives waiters whose process may be dead no more than that does. before is what ends said before
-- the change: the first who stays asks anew if the lease in its way is over sooner than it knows.
local function admit(K, retention, t, s, before)
  if s.alone then
    return
  end
  local passed, readers, lengthens, wasShared, stays = {}, {}, false, s.kind, nil
  while true do
    local id = redis.pcall('ZRANGE', K.queue, #passed, #passed)[1]
    if not id then
      break
    end
    if s.alone then
      stays = id
      break
    end
    local whole, channel, node, live = nil, nil, nil, 0
    local waiter = redis.call('HGET', K.waiters, id)
    if waiter then
      whole, channel, node = string.match(waiter, '^(%d+) (%S+) (.*)$')
      live = tonumber(redis.call('HGET', K.waiters, '@' .. channel)) or 0
    end
    live = live - t / 1000
    if live > 0 and not fits(K, t, s, id) then
      stays = id
      break
    end
    passed[#passed + 1] = id
    redis.call('HDEL', K.waiters, id)
    if live > 0 then
      local ttl = math.min(tonumber(whole), math.max(math.floor(live), 500))
      lengthens = lengthens or ttl < tonumber(whole) and ttl >= 1000
      local epoch, slot = join(K, retention, t, s, id, int(ttl), channel, node)
      if s.kind == 'r' and not s.alone then
        local _, _, lease = kindOf(id)
        readers[#readers + 1] = lease .. ' ' .. channel
      end
      publish(channel, table.concat({ 'grant', id, int(epoch), int(t), int(ttl), slot }, ' '))
    end
  end
  for _, gone in ipairs(passed) do
    redis.call('ZREM', K.queue, gone)
  end
  if stays then
    recall(readers)
    local was, is = wayOff(before, stays), wayOff(ends(K, t), stays)
    if was > is and not lengthens then
      poke(K.queue, K.waiters, 0)
    end
  end
  if s.vacant then
    redis.call('DEL', K.lock)
  end
  if wasShared and (s.vacant or s.alone) then
    redis.call('DEL', K.holders, K.held)
  elseif wasShared == 'p' and s.kind == 'r' then
    redis.call('DEL', K.held)
  end
  if not stays then
    redis.call('DEL', K.waiters)
  end
end

-- leave ends the share of one of several and reports whether there was one. The last who leaves is removed with the
-- keys, by admit, or when the next generation begins.
local function leave(K, t, s, holder)
  if not s.kind or not share(K.holders, t, holder) then
    return false
  end
  local others = living(K, t, 0, 2)
  if not others[2] then
    s.vacant = true
    return true
  end
  if s.kind == 'p' then
    local slot = string.match(redis.call('HGET', K.held, holder) or '', ' (%d+)$')
    redis.call('HDEL', K.held, holder, 's' .. (slot or '-'))
  end
  redis.call('ZREM', K.holders, holder)
  settle(K, t, s.kind)
  return true
end
