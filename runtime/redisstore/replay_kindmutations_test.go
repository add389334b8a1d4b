package redisstore

import "testing"

// kindMutations are scripts for readers and permits that are broken in one place.
var kindMutations = []mutation{
	{"lib", `    if sharing(id) then`, `    if false then`},
	{"acquire", `if string.sub(owner, 1, 1) == '*' then`, `if false then`},
	{"release", `string.sub(lock, 1, 1) == '*' and 3 or 0`, `0`},
	{"release", `mixed and 3 or 1`, `1`},
	{"held", `lock and string.sub(lock, 1, 1) == '*' and 3 or 0`, `0`},
	{"cancel", `if lock and string.sub(lock, 1, 1) == '*' then`, `if false then`},
	{"renew", `string.sub(lock, 1, 1) == '*' and 3 or 0`, `0`},
	{"cancel_shared", `redis.call('ZREM', KEYS[2], id .. ARGV[4])`, `redis.call('ZREM', KEYS[2], id)`},
	{"cancel_shared", `admit(K, retention, t, s, before)`, ``},
	{"cancel_shared", `leave(K, t, s, id .. ' ' .. ARGV[3])`, `false`},
	{"acquire_shared", `if t > tonumber(ARGV[5]) then`, `if false then`},
	{"acquire_shared", `ARGV[7] == '~r' and redis.call('EXISTS', KEYS[2]) == 0`, `ARGV[7] == '~r'`},
	{"acquire_shared", `if floor and floor >= t and`, `if false and`},
	{"acquire_shared", `redis.call('SET', KEYS[4], epoch, 'PX', keep)`, ``},
	{"acquire_shared", `if redis.call('PTTL', KEYS[1]) < tonumber(ttl) then`, `if false then`},
	{"acquire_shared", `if redis.call('PTTL', KEYS[1]) < tonumber(ttl) then`, `if true then`},
	{"acquire_shared", `redis.call('ZADD', KEYS[5], 'NX', ends, holder) == 1`, `redis.call('ZADD', KEYS[5], ends, holder)`},
	{"acquire_shared", `if allBroken or isBroken then`, `if allBroken then`},
	{"acquire_shared", `return { 1, tonumber(generation), t, t, left }`, `return { 1, tonumber(generation), t, t, tonumber(ttl) }`},
	{"acquire_shared", `if redis.call('EXISTS', K.queue) == 0 and fits(K, t, s, id) then`, `if fits(K, t, s, id) then`},
	{"acquire_shared", `recall(living(K, t, 0, 100))`, ``},
	{"acquire_shared", `wayOff(ends(K, t), id)`, `ends(K, t).last`},
	{"acquire_shared", `share(K.holders, t, '-' .. lease .. ' - ')`, `false`},
	{"release_shared", `    if last ~= holder then`, `    if true then`},
	{"release_shared", `redis.call('ZREM', KEYS[5], holder) == 0`, `redis.call('ZREM', KEYS[5], holder) == 2`},
	{"release_shared", `redis.call('PEXPIRE', KEYS[1], left)`, ``},
	{"release_shared", `not s.broken and not isBroken and share`, `share`},
	{"release_shared", `'s' .. string.match(entry, '%d+$'), kept)`, `'s9', kept)`},
	{"release_shared", `  redis.call('ZREM', K.holders, holder)
  settle`, `  settle`},
	{"release_shared", `  return 0
end
admit(K, retention, t, s, before)`, `  return 0
end`},
	{"renew_shared", `if allBroken or isBroken then`, `if allBroken then`},
	{"renew_shared", `redis.call('ZADD', K.holders, int(again), holder)`, ``},
	{"renew_shared", `redis.call('PEXPIRE', K.holders, ttl)`, ``},
	{"downgrade", `if kind == 'r' then`, `if false then`},
	{"downgrade", `if broken(lock) then`, `if false then`},
	{"downgrade", `ARGV[4] == '1' and`, `false and`},
	{"downgrade", `admit(K, retention, t, s, ends(K, t))`, ``},
	{"break", `int(till) .. '.5'`, `int(till)`},
	{"break", `its == ARGV[2] then`, `true then`},
	{"break", `  leave(K, t, s, holder)
  admit(K, retention, t, s, before)`, `  leave(K, t, s, holder)`},
	{"held_shared", `share(KEYS[2 * i], t, id .. ' ' .. ARGV[1])`, `nil`},
	{"held_shared", `isBroken or itsBroken`, `isBroken`},
	{"alive_shared", `  if not living(limit - 1) then`, `  if false then`},
	{"alive_shared", `local ids = own(holdersKey)`, `local ids = {}`},
	{"shared", `  return mine(lock, id) or kind ~= 'w' and lease == id`, `  return false`},
	{"shared", `  if ends < math.floor(t / 1000) then`, `  if ends < 0 then`},
	{"shared", `not lock or kind and not living(K, t, 0, 1)[1]`, `not lock or kind`},
	{"shared", `return kindOf(id) == 'p' and e.first or e.last`, `return e.last`},
	{"shared", `s.broken or kind ~= s.kind`, `s.broken`},
	{"shared", `not living(K, t, limit - 1, 1)[1]`, `not living(K, t, limit, 1)[1]`},
	{"shared", `redis.call('ZRANGE', K.holders, -1, -1, 'WITHSCORES')`, `redis.call('ZRANGE', K.holders, 0, 0, 'WITHSCORES')`},
	{"shared", `  redis.call('SET', K.floor, int(epoch), 'PX', int(retention + ttl))`, ``},
	{"shared", `if not entry or string.match(entry, '%d+$') ~= tostring(slot) or not share(K.holders, t, holder) then`, `if true then`},
	{"shared", `if s.vacant or kind == 'p' then`, `if true then`},
	{"shared", `if s.vacant or kind == 'p' then`, `if s.vacant then`},
	{"shared", `      redis.call('SET', K.lock, table.concat({ '*p'`, `      type(table.concat({ '*p'`},
	{"shared", `    redis.call('HDEL', K.waiters, id)`, ``},
	{"shared", `    if live > 0 then
      local ttl`, `    if waiter then
      local ttl`},
	{"shared", `math.min(tonumber(whole), math.max(math.floor(live), 500))`, `tonumber(whole)`},
	{"shared", `      publish(channel, table.concat({ 'grant'`, `      type(channel, table.concat({ 'grant'`},
	{"shared", `    redis.call('ZREM', K.queue, gone)`, ``},
	{"shared", `    recall(readers)`, ``},
	{"shared", `if was > is and not lengthens then`, `if was > is then`},
	{"shared", `if was > is and not lengthens then`, `if false then`},
	{"shared", `  if s.vacant then
    redis.call('DEL', K.lock)`, `  if false then
    redis.call('DEL', K.lock)`},
	{"shared", `    redis.call('DEL', K.waiters)`, ``},
	{"shared", `  if not others[2] then
    s.vacant = true`, `  if not others[2] then
    s.vacant = false`},
	{"shared", `  redis.call('ZREM', K.holders, holder)
  settle(K, t, s.kind)
  return true`, `  settle(K, t, s.kind)
  return true`},
	{"shared", `  redis.call('ZREM', K.holders, holder)
  settle(K, t, s.kind)
  return true`, `  redis.call('ZREM', K.holders, holder)
  return true`},
}

// kindMutationsBesideOld are such that only nodes of before bring out.
var kindMutationsBesideOld = []mutation{
	{"shared", `  return mine(lock, id) or kind ~= 'w' and lease == id`, `  return mine(lock, id)`},
	{"shared", `s.broken or kind ~= s.kind`, `kind ~= s.kind`},
	{"acquire_shared", `if allBroken or isBroken then`, `if isBroken then`},
	{"renew_shared", `if allBroken or isBroken then`, `if isBroken then`},
	{"cancel_shared", `mine(lock, id .. ARGV[4])`, `false`},
	{"acquire_shared", `'^%*r (%d+) %d+ [1-9]'`, `'^%*r (%d+) '`},
}

// The walks prove something about these scripts only if they tell broken ones from them.
func TestScripts_replayFindsMutations_kinds(t *testing.T) {
	findMutations(t, kindMutations, anyKinds)
}

func TestScripts_replayFindsMutations_besideOldNodes(t *testing.T) {
	findMutations(t, kindMutationsBesideOld, kindsBesideOld)
}
