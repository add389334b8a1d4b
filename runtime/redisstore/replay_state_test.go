package redisstore

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockgen/lockgen/runtime/redisstore/internal/model"
)

// passTime makes everything about the lock happen a while earlier, which is the same as if the time had passed: no test
// waits for a tick, and none can be late for one.
//
// KEYS  lock, queue, waiters, floor, holders, held
// ARGV  1 how long (ms), 2 what a key may have too much (ms)
var passTime = redis.NewScript(`
local tick, slack = tonumber(ARGV[1]), tonumber(ARGV[2])
for _, key in ipairs(KEYS) do
  local left = redis.call('PTTL', key)
  if left >= 0 and left <= tick + slack then
    redis.call('DEL', key)
  elseif left > tick + slack then
    redis.call('PEXPIRE', key, left - tick)
  end
end
local lock = redis.call('GET', KEYS[1])
if lock then
  local id, epoch, since, rest = string.match(lock, '^(%S+) (%d+) (%d+) (.*)$')
  redis.call('SET', KEYS[1], table.concat({ id, epoch, string.format('%.0f', since - 1000 * tick), rest }, ' '), 'KEEPTTL')
end
local waiters = redis.call('HGETALL', KEYS[3])
local now = redis.call('TIME')
local ms = now[1] * 1000 + math.floor(now[2] / 1000)
local holders = redis.call('ZRANGE', KEYS[5], 0, -1, 'WITHSCORES')
for i = 1, #holders, 2 do
  local ends = holders[i + 1] - tick
  if ends - ms <= slack then
    ends = ms - 1
  end
  redis.call('ZADD', KEYS[5], string.format('%.1f', ends), holders[i])
end
for i = 1, #waiters, 2 do
  if string.sub(waiters[i], 1, 1) == '@' then
    redis.call('HSET', KEYS[3], waiters[i], string.format('%.0f', waiters[i + 1] - tick))
  end
end
return 1`)

// look reads everything at one moment.
//
// KEYS  lock, queue, waiters, floor, holders, held
// Returns lock, floor, the keys' times to live (ms), queue, waiters hash, now (ms), holders and their ends (ms), held hash
var look = redis.NewScript(`
local time = redis.call('TIME')
return { redis.call('GET', KEYS[1]) or '', redis.call('GET', KEYS[4]) or '',
  redis.call('PTTL', KEYS[1]), redis.call('PTTL', KEYS[2]), redis.call('PTTL', KEYS[3]), redis.call('PTTL', KEYS[4]),
  redis.call('ZRANGE', KEYS[2], 0, -1), redis.call('HGETALL', KEYS[3]), time[1] * 1000 + math.floor(time[2] / 1000),
  redis.call('ZRANGE', KEYS[5], 0, -1, 'WITHSCORES'), redis.call('HGETALL', KEYS[6]) }`)

// compare checks that the server knows what the model's does.
func (p *replay) compare(s *model.State) {
	seen, err := look.Run(p.ctx, p.client, p.keys.all()).Slice()
	if err != nil {
		p.t.Fatal(err)
	}
	p.compareLock(s, seen[0].(string), ticks(seen[2].(int64)))
	p.compareHolders(s, texts(seen[9]), texts(seen[10]), seen[8].(int64))
	p.compareFloor(s, seen[1].(string), seen[5].(int64), seen[2].(int64))

	queue, want := texts(seen[6]), []string(nil)
	for _, id := range s.Queue[:s.Queued] {
		want = append(want, leaseName(id)+p.kindOf(id))
	}
	if !slices.Equal(queue, want) {
		p.differ("the queue is %q, the model's %q", queue, want)
	}
	if left := ticks(seen[4].(int64)); left != s.WaitersLeft {
		p.differ("the waiters hash has %d ticks left, the model's %d", left, s.WaitersLeft)
	}
	if left := ticks(seen[3].(int64)); s.Queued > 0 && left != s.WaitersLeft {
		p.differ("the queue has %d ticks left, the model's %d", left, s.WaitersLeft)
	}
	p.compareWaiters(s, texts(seen[7]), want, seen[8].(int64))
}

func (p *replay) compareLock(s *model.State, lock string, left int8) {
	owner := ""
	switch s.Owner {
	case model.None:
	case model.Kept:
		owner = "-"
	case model.Readers:
		owner = "*r"
	case model.Permits:
		owner = "*p"
	default:
		owner = leaseName(s.Owner) + p.kindOf(s.Owner)
	}
	id, rest, _ := strings.Cut(lock, " ")
	if p.ownerName = id; id != owner || left != s.Left {
		p.differ("the lock is %q for %d ticks, the model's owner is %q for %d", lock, left, owner, s.Left)
	}
	if owner != "" {
		epochText, _, _ := strings.Cut(rest, " ")
		epoch, err := strconv.ParseUint(epochText, 10, 64)
		if err != nil {
			p.t.Fatal(err)
		}
		p.compareEpoch("the lock's", s.Epoch, epoch)
	}
	if s.Owner >= 0 {
		words := strings.Fields(rest)
		given, err := strconv.ParseInt(words[2], 10, 64)
		if err != nil {
			p.t.Fatal(err)
		}
		if marked := given == 0; marked != s.Marked || !marked && ticks(given) != s.Given {
			p.differ("the lock is %q, the model's was given for %d ticks, broken: %v", lock, s.Given, s.Marked)
		}
	}
}

func (p *replay) compareFloor(s *model.State, floor string, floorLeft, lockLeft int64) {
	if s.Floor == 0 {
		return
	}
	epoch, err := strconv.ParseUint(floor, 10, 64)
	if err != nil {
		p.differ("the floor is %q, the model's %d", floor, s.Floor)
	}
	p.compareEpoch("the floor's", s.Floor, epoch)
	if floorLeft <= lockLeft {
		p.differ("the floor expires in %d ms, the lock in %d", floorLeft, lockLeft)
	}
}

// compareWaiters checks the hash: an entry for each in the queue and no other, and how long each process is live.
func (p *replay) compareWaiters(s *model.State, fields, queue []string, now int64) {
	live := map[string]int8{}
	var entries []string
	for i := 0; i+1 < len(fields); i += 2 {
		switch name, ok := strings.CutPrefix(fields[i], "@"); {
		case ok:
			until, err := strconv.ParseInt(fields[i+1], 10, 64)
			if err != nil {
				p.t.Fatal(err)
			}
			live[name] = ticks(max(until-now, 0))
		case name != "#":
			entries = append(entries, name)
		}
	}
	want := slices.Sorted(slices.Values(queue))
	if slices.Sort(entries); !slices.Equal(entries, want) {
		p.differ("the waiters hash has entries for %q, the queue holds %q", entries, want)
	}
	for proc, left := range s.Live {
		if got := live[channelOf(procName(int8(proc)))]; got != left {
			p.differ("process %d is live for %d ticks, the model says %d", proc, got, left)
		}
	}
}

// slack is longer than a walk takes, and than what the scripts add to a key's time to live by writing to it.
const slack = tick / 10

// ticks rounds up, as every moment of a tick but its first belongs to it; keys that are not there have none.
func ticks(ms int64) int8 {
	return int8((max(time.Duration(ms)*time.Millisecond, slack) - slack + tick - 1) / tick)
}

func texts(v any) []string {
	var out []string
	for _, text := range v.([]any) {
		out = append(out, fmt.Sprint(text))
	}
	return out
}
