-- Pauses a job. One that is paused already stays so since when it was. One that was resumed since the pause was asked for stays
-- resumed.
--
-- KEYS  1 cursors, 2 paused, 3 stamp, 4 pausing
-- ARGV  1 job, 2 the pause (JSON), 3 when it was asked for (µs; not above 0: that is not known)
-- Returns what is kept of the pause, or of the resume, '' if the job is not known
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then return '' end
local last = redis.call('HGET', KEYS[2], ARGV[1])
local new, old = cjson.decode(ARGV[2]), last and string.match(last, '^%d+ ({.*)$')
if old then
  new.at = cjson.decode(old).at
elseif last and tonumber(ARGV[3]) > 0 and tonumber(ARGV[3]) < tonumber(string.match(last, '^%d+')) then
  return last
end
local version = nextVersion(last)
local kept = version .. ' ' .. cjson.encode(new)
redis.call('HSET', KEYS[2], ARGV[1], kept)
redis.call('HSET', KEYS[3], 'pv', version)
redis.call('ZADD', KEYS[4], 0, ARGV[1])
return kept
