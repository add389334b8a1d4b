-- Puts the timing of a job out of force as of when it was registered last, or of its cursor if that is later.
--
-- KEYS  1 cursors, 2 seen, 3 specs, 4 epochs
-- ARGV  1 job, 2 its epoch, 3 its next epoch, 4 a timing without ticks (JSON)
-- Returns 1  done
--         0  that is not its epoch
local text = redis.call('HGET', KEYS[3], ARGV[1])
local spec = text and cjson.decode(text)
if not spec or spec.epoch ~= ARGV[2] then return 0 end
local since = tonumber(redis.call('ZSCORE', KEYS[2], ARGV[1]) or 0)
since = math.max(since, tonumber(redis.call('HGET', KEYS[1], ARGV[1]) or 0))
spec.timings[#spec.timings + 1] = { since = int(since), timing = ARGV[4] }
spec.epoch = ARGV[3]
redis.call('HSET', KEYS[3], ARGV[1], cjson.encode(spec))
redis.call('HSET', KEYS[4], ARGV[1], spec.epoch)
return 1
