-- Puts back what a session knows after data was lost; see Store.Restore.
--
-- KEYS  1 paused, 2 stamp, 3 flight, 4 owner, 5 begun, 6 alive, 7 oneoffs, 8 due, 9 past, 10 pausing
-- ARGV  1 lease (µs), then of each thing what it is and
--         'pause'    job, version, the pause (JSON; '-': it was resumed)
--         'flight'   run, its owner, its JSON, when it began (µs) and its fence with a blank between them ('': it has not)
--         'oneoff'   one-off job, its JSON, its time (µs)
--         'past'     one-off job that waits no more
-- Returns 1
local t, at, leases = now(), 2, {}
while at <= #ARGV do
  local what, a, b, c, d = ARGV[at], ARGV[at + 1], ARGV[at + 2], ARGV[at + 3], ARGV[at + 4]
  if what == 'pause' then
    local last = redis.call('HGET', KEYS[1], a)
    if not last or tonumber(string.match(last, '^%d+')) < tonumber(b) then
      redis.call('HSET', KEYS[1], a, b .. ' ' .. c)
      redis.call('HSET', KEYS[2], 'pv', b)
      if c == '-' then redis.call('ZREM', KEYS[10], a) else redis.call('ZADD', KEYS[10], 0, a) end
    end
    at = at + 4
  elseif what == 'flight' then
    if redis.call('HEXISTS', KEYS[4], a) == 0 then
      redis.call('HSET', KEYS[3], a, c)
      redis.call('HSET', KEYS[4], a, b)
      if d ~= '' then redis.call('HSET', KEYS[5], a, d) end
      leases[b] = true
    end
    at = at + 5
  elseif what == 'oneoff' then
    if not redis.call('ZSCORE', KEYS[8], a) and not redis.call('ZSCORE', KEYS[9], a) then
      redis.call('HSET', KEYS[7], a, b)
      redis.call('ZADD', KEYS[8], c, a)
    end
    at = at + 4
  else
    redis.call('HDEL', KEYS[7], a)
    redis.call('ZREM', KEYS[8], a)
    redis.call('ZADD', KEYS[9], 'NX', int(t), a)
    at = at + 2
  end
end
extend(KEYS[6], leases, t, ARGV[1])
return 1
