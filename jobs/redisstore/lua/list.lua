-- Lists jobs of one state by name, a stretch at a time.
--
-- KEYS  1 the jobs of the state, 2 texts, 3 seen
-- ARGV  1 the name to go on from ('': from the end of the list), 2 '1' to go back, 3 how many at most, 4 how many to look at, at
--       most, 5 only those registered before (µs; '': all), then words that their texts must have
-- Returns {'1' if there are no others, the last name that was looked at, how many come before the one to go on from, the names}
local from, back, limit, most = ARGV[1], ARGV[2] == '1', tonumber(ARGV[3]), tonumber(ARGV[4])
local before = 0
if from ~= '' then
  before = redis.call('ZLEXCOUNT', KEYS[1], '-', (back and '(' or '[') .. from)
elseif back then
  before = redis.call('ZCARD', KEYS[1])
end
local words = {}
for i = 6, #ARGV do words[#words + 1] = ARGV[i] end

local function stretch(n)
  local at = from ~= '' and '(' .. from
  if back then return redis.call('ZREVRANGEBYLEX', KEYS[1], at or '+', '-', 'LIMIT', 0, n) end
  return redis.call('ZRANGEBYLEX', KEYS[1], at or '-', '+', 'LIMIT', 0, n)
end

local function hasAll(text)
  for _, word in ipairs(words) do
    if not string.find(text, word, 1, true) then return false end
  end
  return true
end

-- choose returns which of the names are asked for.
local function choose(names)
  local texts = words[1] and mget(KEYS[2], names)
  local seen = ARGV[5] ~= '' and scores(KEYS[3], names)
  local chosen = {}
  for i, name in ipairs(names) do
    chosen[i] = (not texts or hasAll(texts[i] or '')) and (not seen or tonumber(seen[i] or 0) < tonumber(ARGV[5]))
  end
  return chosen
end

local found, ended = {}, '0'
while #found < limit and most > 0 do
  local n = math.min(most, 500)
  local names = stretch(n)
  if #names < n then ended = '1' end
  local chosen = choose(names)
  for i, name in ipairs(names) do
    if #found == limit then
      ended = '0'
      break
    end
    from = name
    if chosen[i] then found[#found + 1] = name end
  end
  most = ended == '1' and 0 or most - n
end
return { ended, from, before, found }
