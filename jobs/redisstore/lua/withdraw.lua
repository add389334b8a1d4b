-- Removes a one-off job that waits.
--
-- KEYS  oneoffs, due
-- ARGV  1 its ID
-- Returns 1  done
--         0  no such job waits
redis.call('HDEL', KEYS[1], ARGV[1])
return redis.call('ZREM', KEYS[2], ARGV[1])
