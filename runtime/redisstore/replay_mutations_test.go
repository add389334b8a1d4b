package redisstore

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
)

// mutations are scripts that are broken in one place, as somebody might break them.
var mutations = []struct{ script, old, new string }{
	{"release", `if not lock or string.sub(lock, 1, #owner) ~= owner then`, `if not lock then`},
	{"release", `elseif nobodyWaits or redis.call('EXISTS', KEYS[n + i]) == 0 then`, `elseif true then`},
	{"release", `EXISTS', unpack(KEYS, n + 1, 2 * n)`, `EXISTS', unpack(KEYS, n + 1, n + 1)`},
	{"release", `KEYS[n + i]) == 0`, `KEYS[n + 1]) == 0`},
	{"release", `free[#free + 1]`, `free[1]`},
	{"release", `if answer == 2 then`, `if i == 1 then`},
	{"release", `t)
    answers[i] = 1`, `t)`},
	{"release", `if free[1] then`, `if false then`},
	{"retain", `pokeFirst(KEYS`, `type(KEYS`},
	{"retain", `, 'PX', ARGV[2])`, `)`},
	{"retain", `if not mine(lock, ARGV[1]) then`, `if not lock then`},
	{"retain", `{ '-', epoch`, `{ ARGV[1], epoch`},
	{"retain", `int(ARGV[2] + ARGV[3])`, `ARGV[2]`},
	{"acquire", `redis.call('SET', KEYS[3 * n + i], now, 'PX', keep, 'GET')`, `redis.call('SET', KEYS[3 * n + i], now, 'GET')`},
	{"acquire", `redis.call('SET', KEYS[3 * n + i], now, 'PX', keep, 'GET')`, `redis.call('GET', KEYS[3 * n + i])`},
	{"acquire", `if floor < t then`, `if true then`},
	{"acquire", `redis.call('SET', KEYS[3 * n + i], epoch, 'PX', keep)`, `redis.call('SET', KEYS[3 * n + i], epoch)`},
	{"acquire", `redis.call('SET', KEYS[3 * n + i], epoch, 'PX', keep)`, ``},
	{"acquire", `redis.call('EXISTS', KEYS[n + i]) == 0)`, `true)`},
	{"acquire", `KEYS[n + i]) == 0`, `KEYS[n + 1]) == 0`},
	{"acquire", `EXISTS', unpack(KEYS, n + 1, 2 * n)`, `EXISTS', unpack(KEYS, n + 1, n + 1)`},
	{"acquire", `'NX', 'PX', ttl)`, `'PX', ttl)`},
	{"acquire", `if answer == 0 then`, `if i == 1 then`},
	{"acquire", `retention, t, 0)`, `retention, t, 1e12)`},
	{"acquire", `if not redis.call('ZSCORE', queueKey, id) then`, `if true then`},
	{"acquire", `if owner == id then`, `if false then`},
	{"acquire", `redis.call('HINCRBY', waitersKey, '#', 1)`, `0`},
	{"acquire", `    keepQueue(queueKey`, `    type(queueKey`},
	{"acquire", `HSET', waitersKey, '@' .. channel`, `HSETNX', waitersKey, '@' .. channel`},
	{"acquire", `redis.call('PTTL', lockKey), t, holder`, `1, t, holder`},
	{"acquire", `slow = slow or not answer`, `slow = not answer`},
	{"acquire", `answer = { 1, floor + 1, t, t }`, `answer = { 1, floor, t, t }`},
	{"acquire", `string.format('%.0f', floor + 1)`, `string.format('%.0f', floor)`},
	{"acquire", `ttl, channelAndNode }, ' '), 'PX', ttl)`, `ttl, channelAndNode }, ' '))`},
	{"acquire", `if liveness > 0 then`, `if true then`},
	{"acquire", `waitersKey, id, ttl ..`, `waitersKey, id, keep ..`},
	{"acquire", `tonumber(since), t }`, `t, t }`},
	{"acquire", `math.floor(t / 1000) + liveness`, `t + liveness`},
	{"acquire", `    handOn(lockKey`, `    type(lockKey`},
	{"lib", `if live * 1000 > t then`, `if true then`},
	{"lib", `if live * 1000 > t then`, `if live > t then`},
	{"lib", `redis.call('ZREM', queueKey, id)`, `if redis.call('EXISTS', lockKey) == 1 then return end`},
	{"lib", `redis.call('HDEL', waitersKey, id)`, ``},
	{"lib", `redis.call('SET', floorKey, int(epoch), 'PX', int(retention + ttl))`, ``},
	{"lib", `redis.call('PUBLISH', channel, table`, `local _ = (table`},
	{"lib", `redis.call('DEL', waitersKey)`, ``},
	{"lib", `if left > tonumber(ttl) then`, `if true then`},
	{"lib", `if left > tonumber(ttl) then`, `if false then`},
	{"lib", `local left = redis.call('PTTL', lockKey)`, `local left = 0`},
	{"lib", `'poke ' .. id`, `'poke '`},
	{"lib", `redis.call('ZRANGE', queueKey, 0, 0)[1]`, `redis.call('ZRANGE', queueKey, -1, -1)[1]`},
	{"lib", `int(epoch), int(t), ttl`, `int(epoch), int(epoch), ttl`},
	{"lib", `redis.call('SET', lockKey, value, 'PX', ttl)`, `redis.call('SET', lockKey, value)`},
	{"lib", `(tonumber(redis.call('GET', floorKey)) or 0) + 1`, `0`},
	{"lib", `or 0) + 1, t)`, `or 0), t)`},
	{"lib", `'PTTL', queueKey) < 2`, `'PTTL', queueKey) > 2`},
	{"lib", `'^%d+ (%S+) '`, `'^(%d+) '`},
	{"lib", `redis.call('DEL', lockKey)`, ``},
	{"lib", `        end
        return`, `        end`},
	{"cancel", `redis.call('ZREM', KEYS[2], id)`, ``},
	{"cancel", `redis.call('HDEL', KEYS[3], id)`, ``},
	{"cancel", `release(KEYS`, `type(KEYS`},
	{"cancel", `if not mine(redis.call('GET', KEYS[1]), id) then`, `if not redis.call('GET', KEYS[1]) then`},
	{"renew", `if mine(lock, id) then`, `if lock then`},
	{"renew", `redis.call('PEXPIRE', lockKey, ttl)`, ``},
	{"renew", `if redis.call('PTTL', lockKey) < ttl then`, `if true then ttl = ttl / 2`},
	{"alive", `if redis.call('EXISTS', KEYS[1]) == 0 then`, `if false then`},
	{"alive", `keepQueue(KEYS`, `type(KEYS`},
	{"alive", `redis.call('PTTL', KEYS[3])`, `1`},
	{"alive", `/ 1000) + ARGV[2]`, `/ 1000)`},
	{"lib", `redis.call('PEXPIRE', queueKey, 2 * liveness)`, ``},
	{"lib", `redis.call('PEXPIRE', waitersKey, 2 * liveness)`, ``},
	{"break", `int(epoch + 1)`, `int(epoch - 1)`},
	{"break", `redis.call('PUBLISH', channel, 'lost '`, `local _ = ('lost '`},
	{"break", `release(KEYS`, `type(KEYS`},
	{"break", `'lost ' .. id .. ' ' .. ARGV[1]`, `'lost ' .. id`},
}

// The replay proves something about the scripts only if it tells broken ones from them.
func TestScripts_replayFindsMutations(t *testing.T) {
	r := newRig(t)
	// Always the same walks: which of them meets a mutation must not depend on luck.
	const seed, walks = 1, 40 * replayWalks
	for _, m := range mutations {
		t.Run(m.script+"_"+m.old, func(t *testing.T) {
			mutant := *r
			mutant.scripts = mutate(t, m.script, m.old, m.new)
			found := &failure{TB: t}
			done := make(chan struct{})
			go func() {
				defer close(done)
				mutant.t = found
				p := newReplay(&mutant)
				defer p.close()
				for i := range uint64(walks) {
					p.walk(rand.New(rand.NewPCG(seed, i)))
				}
			}()
			<-done
			if found.text == "" {
				t.Errorf("%d walks did not tell this script from the real one", walks)
			}
			if strings.Contains(found.text, "ERR ") {
				t.Errorf("the mutation does not run: %s", found.text)
			}
		})
	}
}

// mutate loads the scripts with one file changed. Other files are loaded as they are.
func mutate(t *testing.T, file, old, new string) scriptSet {
	t.Helper()
	changed := false
	load := func(name string) *script {
		source := loadScript(name).source
		if file != "lib" && file != name {
			return &script{source: source, sha: shaOf(source)}
		}
		text := strings.Replace(source, old, new, 1)
		changed = changed || text != source
		return &script{source: text, sha: shaOf(text)}
	}
	set := scriptSet{load("acquire"), load("release"), load("retain"), load("cancel"), load("renew"), load("alive"), load("break")}
	if !changed {
		t.Fatalf("the scripts do not contain %q any more; write the mutation anew", old)
	}
	return set
}

// failure is a test that is expected to fail.
type failure struct {
	testing.TB
	text string
}

func (f *failure) Helper() {}

func (f *failure) Fatal(args ...any) { f.Fatalf("%s", fmt.Sprint(args...)) }

func (f *failure) Fatalf(format string, args ...any) {
	if f.text == "" {
		f.text = fmt.Sprintf(format, args...)
	}
	runtime.Goexit()
}
