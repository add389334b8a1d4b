-- Shows a node in the list of nodes, and forgets those that have given no sign of life for too long.
--
-- KEYS  nodes
-- ARGV  1 session, 2 node (JSON), 3 how old the last sign of life of a node may be (µs)
local t = now()
redis.call('HSET', KEYS[1], ARGV[1], int(t) .. ' ' .. ARGV[2])
redis.call('PEXPIRE', KEYS[1], int(ARGV[3] / 1000))
local all = redis.call('HGETALL', KEYS[1])
for i = 1, #all, 2 do
  if t - tonumber(string.match(all[i + 1], '^%d+')) > tonumber(ARGV[3]) then redis.call('HDEL', KEYS[1], all[i]) end
end
return 1
