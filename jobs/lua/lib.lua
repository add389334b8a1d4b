-- Shared by all scripts of package jobs, which stand below this.
--
-- One job has two keys in one slot: a hash and a list of records, the latest first. Fields of the hash:
--   mark       up to which tick all is decided (µs since the epoch)
--   u:<run>    until when the claim of a run in flight holds (µs)
--   p:<run>    that run, as JSON
-- Both keys expire after ARGV[1] ms without a node that looks at the job.

-- now is the server's time in µs. All nodes share this clock, and no decision uses another.
local function now()
  local t = redis.call('TIME')
  return t[1] * 1000000 + t[2]
end

-- int writes a number in full: Lua's own conversion rounds to 14 digits.
local function int(n) return string.format('%.0f', n) end

-- touch gives a job on first sight the current time as its mark, and renews the expiry.
local function touch(job, runs, t)
  redis.call('HSETNX', job, 'mark', int(t))
  redis.call('PEXPIRE', job, ARGV[1])
  redis.call('PEXPIRE', runs, ARGV[1])
end

-- hold puts a run in flight for lease µs.
local function hold(job, t, lease, id, run)
  redis.call('HSET', job, 'u:' .. id, int(t + lease), 'p:' .. id, run)
end

-- record adds the record of a run and drops those beyond keep.
local function record(runs, run, keep)
  redis.call('LPUSH', runs, run)
  redis.call('LTRIM', runs, 0, keep - 1)
end

