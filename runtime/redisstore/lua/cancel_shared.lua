-- Takes a lease of any kind that nobody wants any more out of the queue; if it was granted meanwhile, the lock or its
-- share goes on to the next. A writer that leaves the head of the queue makes room for readers behind it.
--
-- KEYS  lock, queue, waiters, floor, holders, held
-- ARGV  1 lease id, 2 retention (ms), 3 "<channel> <node>", 4 "~r" for a reader, "~p<n>" for one of n permits, else ""
-- Returns {1 it had the lock or a share or 0 it did not, now (µs)}
local id, t, retention = ARGV[1], now(), tonumber(ARGV[2])

local lock = redis.call('GET', KEYS[1])
local isMine = lock and (mine(lock, id) or mine(lock, id .. ARGV[4]))
if not isMine then
  redis.call('HDEL', KEYS[3], id .. ARGV[4])
  redis.call('ZREM', KEYS[2], id .. ARGV[4])
  if not lock or string.sub(lock, 1, 1) ~= '*' then
    return { 0, t }
  end
end
-- shared.lua is inserted here

local K = keysOf(KEYS)
local s, before = look(K, t), ends(K, t)
if isMine then
  s.alone, s.vacant = false, true
end
local had = isMine or leave(K, t, s, id .. ' ' .. ARGV[3])
admit(K, retention, t, s, before)
return { had and 1 or 0, t }
