-- Shows a node in the list of nodes, and forgets those that have given no sign of life for too long.
--
-- KEYS  nodes
-- ARGV  1 session, 2 node (JSON), 3 how old a peer's last sign of life may be, 4 that of any node (both µs)
-- Returns the sessions of the peers, this one among them
local t = now()
redis.call('HSET', KEYS[1], ARGV[1], int(t) .. ' ' .. ARGV[2])
redis.call('PEXPIRE', KEYS[1], int(ARGV[4] / 1000))
local peers = {}
local all = redis.call('HGETALL', KEYS[1])
for i = 1, #all, 2 do
  local age = t - tonumber(string.match(all[i + 1], '^%d+'))
  if age <= tonumber(ARGV[3]) then
    peers[#peers + 1] = all[i]
  elseif age > tonumber(ARGV[4]) then
    redis.call('HDEL', KEYS[1], all[i])
  end
end
return peers
