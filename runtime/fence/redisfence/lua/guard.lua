-- Runs a script only if its fence is the highest that the resource has seen, in one step. The text of that script
-- stands before this one as the function
--
--   local function work(KEYS, ARGV) … end
--
-- KEYS  1 the resource's high-water mark, 2… keys of the work
-- ARGV  1 fence, 2 expiry of the high-water mark (ms; 0: none), 3… arguments of the work
-- Returns what the work returns, or the error
--   STALEFENCE <highest fence seen>    the fence is lower; the work did not run
--   BADFENCEMARK …                     the high-water mark holds what this script did not write; the work did not run
--
-- The high-water mark is raised before the work and stays raised if that fails: a holder with this fence exists, so all
-- before it are obsolete, and a script that fails half way may have written.
local mark, fence, expiry = KEYS[1], ARGV[1], ARGV[2]

-- Fences have up to 63 bits and Lua's numbers 53, so they are compared as decimal digits.
local function lower(a, b)
  if #a ~= #b then
    return #a < #b
  end
  return a < b
end

local seen = redis.call('GET', mark)
if seen then
  if not string.find(seen, '^[1-9]%d*$') then
    return redis.error_reply('BADFENCEMARK ' .. mark .. ' holds no fence; something else writes to this key')
  end
  if lower(fence, seen) then
    return redis.error_reply('STALEFENCE ' .. seen)
  end
end
if expiry == '0' then
  redis.call('SET', mark, fence)
else
  redis.call('SET', mark, fence, 'PX', expiry)
end

local keys, args = {}, {}
for i = 2, #KEYS do
  keys[i - 1] = KEYS[i]
end
for i = 3, #ARGV do
  args[i - 2] = ARGV[i]
end
return work(keys, args)
