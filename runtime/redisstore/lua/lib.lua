-- Functions that the scripts share. They are prepended to each, or inserted where it says so: Lua makes the functions
-- anew at every call, and the scripts that run most seldom need them. Nothing here touches a key that is not passed to
-- it.
--
-- The lock is a string, expiring with the lease:  "<lease id> <epoch> <since> <ttl> <channel> <node>"
--   since in µs and ttl in ms of the server's clock; "-" as the id and the channel while MinHold keeps it for nobody;
--   0 as the ttl of a lease that was broken and whose process has not given it back yet.
-- The queue is a sorted set of lease ids by order of arrival. The waiters hash holds, for each of them,
--   "<ttl> <channel> <node>", for each process "@<channel>" = until when it counts as live (ms), and "#" = arrivals.
-- The floor is the highest epoch issued.
--
-- A lock that is shared, and who waits for a share, is what shared.lua knows of: the string begins with "*" then, and the
-- ids of readers and permits in the queue end with "~r" and "~p<n>".
--
-- Pushes:  "grant <lease id> <epoch> <since> <ttl>", of a permit with its slot behind it, "poke <lease id>",
--          "recall <lease id>" to a reader when somebody waits who cannot join it,
--          "lost <lease id> <length of the lock's key> <the lock's key> <reason>"

local function now()
  local t = redis.call('TIME')
  return t[1] * 1000000 + t[2]
end

-- Lua would print large numbers as 1.7e+15.
local function int(n)
  return string.format('%.0f', n)
end

local function mine(lock, id)
  return lock and string.sub(lock, 1, #id + 1) == id .. ' '
end

-- parse returns id, epoch, since, ttl, channel, node.
local function parse(lock)
  return string.match(lock, '^(%S+) (%d+) (%d+) (%d+) (%S+) (.*)$')
end

-- sharing reports whether an id in the queue is that of a reader or a permit.
local function sharing(id)
  return string.find(id, '~[rp]%d*$')
end

local function broken(lock)
  return string.find(lock, '^%S+ %d+ %d+ 0 ')
end

-- touch changes nothing about a key, by a write that needs no memory. The server lets a script that has written go on
-- when memory is short; and a replica refuses it.
local function touch(key)
  local left = redis.call('PTTL', key)
  if left ~= -1 then
    redis.call('PEXPIRE', key, math.max(left, 1))
  end
end

-- publish sends a hint. A server that refuses to, by its ACL, must not keep a lock from going on.
local function publish(channel, message)
  redis.pcall('PUBLISH', channel, message)
end

-- epochOf reads a floor; what another program has put there counts as none.
local function epochOf(floor)
  local epoch = type(floor) == 'string' and tonumber(floor)
  return epoch and epoch < 9007199254740991 and epoch or 0
end

-- take makes the lease the owner for ttl ms and returns its epoch: greater than every one before, and than those that
-- a floor was dropped with, as long as the server's clock is not behind them.
local function take(lockKey, floorKey, retention, t, id, ttl, channelAndNode)
  local epoch = math.max(epochOf(redis.pcall('GET', floorKey)) + 1, t)
  local value = table.concat({ id, int(epoch), int(t), ttl, channelAndNode }, ' ')
  redis.call('SET', lockKey, value, 'PX', ttl)
  redis.call('SET', floorKey, int(epoch), 'PX', int(retention + ttl))
  return epoch
end

-- keepQueue lets the queue live as long as its most patient process. It never shortens that: processes may be
-- configured differently. Queue and waiters always get their time together, also if one of them is new.
local function keepQueue(queueKey, waitersKey, liveness)
  local left = math.min(redis.call('PTTL', queueKey), redis.call('PTTL', waitersKey))
  if left < 1.5 * liveness then
    redis.call('PEXPIRE', queueKey, 2 * liveness)
    redis.call('PEXPIRE', waitersKey, 2 * liveness)
  end
end

-- poke lets the waiter with a rank ask for the end of the lease in its way, which is sooner than it knows.
local function poke(queueKey, waitersKey, rank)
  local id = redis.call('ZRANGE', queueKey, rank, rank)[1]
  local waiter = id and redis.call('HGET', waitersKey, id)
  if waiter then
    publish(string.match(waiter, '^%d+ (%S+) '), 'poke ' .. id)
  end
end

-- handOn makes the first live waiter the owner and pushes the grant to its process; without one it frees the lock. The
-- lease lasts no longer than the process is known to live, but half a second at least: the process makes it longer when
-- it has learnt of it, and if it is dead, it keeps the others waiting no longer than that. Waiters of processes that
-- have not shown life are dropped; one that was only paused finds that out at its next poke and queues again. left is
-- what the lease that ends had left (ms), for which those behind the new owner have set their timers.
--
-- It returns true and leaves the lock as it is where a reader or a permit is the first live waiter. That is the work of
-- admit in shared.lua.
--
-- Keys are deleted last, and not touched after that. While a slot of a Redis Cluster moves, its server refuses to touch
-- a key that it does not have, and so would end the script half-way.
local function handOn(lockKey, queueKey, waitersKey, floorKey, retention, t, left)
  local passed = {}
  while true do
    local id = redis.pcall('ZRANGE', queueKey, #passed, #passed)[1] -- nothing if another program's key is in the way
    if not id then
      break
    end
    if sharing(id) then
      for _, gone in ipairs(passed) do
        redis.call('ZREM', queueKey, gone)
      end
      return true
    end
    passed[#passed + 1] = id
    local waiter = redis.call('HGET', waitersKey, id)
    redis.call('HDEL', waitersKey, id)
    if waiter then
      local ttl, channel, node = string.match(waiter, '^(%d+) (%S+) (.*)$')
      local live = tonumber(redis.call('HGET', waitersKey, '@' .. channel)) or 0
      if live * 1000 > t then
        local whole = tonumber(ttl)
        ttl = math.min(whole, math.max(math.floor(live - t / 1000), 500))
        local epoch = take(lockKey, floorKey, retention, t, id, int(ttl), channel .. ' ' .. node)
        publish(channel, table.concat({ 'grant', id, int(epoch), int(t), int(ttl) }, ' '))
        -- Nobody needs to hear of a lease that its process is about to lengthen. In the last second of its life the
        -- process is probably dead.
        if left > ttl and (ttl == whole or ttl < 1000) then
          poke(queueKey, waitersKey, #passed)
        end
        for _, gone in ipairs(passed) do
          redis.call('ZREM', queueKey, gone)
        end
        return
      end
    end
  end
  redis.call('DEL', lockKey)
  if passed[1] then
    redis.call('DEL', queueKey)
  end
  redis.call('DEL', waitersKey)
end

-- release ends a lease before its time, and hands the lock on, if handOn does.
local function release(lockKey, queueKey, waitersKey, floorKey, retention, t)
  return handOn(lockKey, queueKey, waitersKey, floorKey, retention, t, redis.call('PTTL', lockKey))
end
