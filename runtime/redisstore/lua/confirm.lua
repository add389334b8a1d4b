-- Writes without a change, so that WAIT behind it waits for all that was written to the server before.
--
-- KEYS  a lock
-- Returns 1
touch(KEYS[1])
return 1
