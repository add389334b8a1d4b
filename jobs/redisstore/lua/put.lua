-- Stores a one-off job, unless its ID is known already.
--
-- KEYS  oneoffs, due, past
-- ARGV  1 its ID, 2 it (JSON), 3 its time (µs), 4 how long the IDs of past ones are remembered (µs)
-- Returns 1  done
--         0  one of that ID waits, or has run
redis.call('ZREMRANGEBYSCORE', KEYS[3], '-inf', int(now() - ARGV[4]))
if redis.call('ZSCORE', KEYS[2], ARGV[1]) or redis.call('ZSCORE', KEYS[3], ARGV[1]) then return 0 end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
redis.call('ZADD', KEYS[2], ARGV[3], ARGV[1])
return 1
