package redisstore

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/lockgen/lockgen/internal/redisscript"
)

// strictRedis stands in for the server of a slot that moves: where all keys of a script are there when it begins, which
// is when such a server runs it, a call for a key that is not fails.
const strictRedis = `
local real, moving = redis, true
for _, key in ipairs(KEYS) do
  moving = moving and real.call('EXISTS', key) == 1
end
local isKey = {}
for _, key in ipairs(KEYS) do
  isKey[key] = true
end
local redis = setmetatable({ call = function(...)
  if moving then
    for _, word in ipairs({...}) do
      if isKey[word] and real.call('EXISTS', word) == 0 then
        error('ERR Script attempted to access a non local key: ' .. table.concat({...}, ' '))
      end
    end
  end
  return real.call(...)
end }, { __index = real })
`

func strict(set scriptSet) scriptSet {
	for _, s := range []**script{
		&set.acquire, &set.release, &set.retain, &set.cancel, &set.renew, &set.held, &set.alive, &set.brk,
		&set.acquireShared, &set.releaseShared, &set.renewShared, &set.downgrade,
		&set.cancelShared, &set.heldShared, &set.aliveShared,
	} {
		source := strictRedis + (*s).Source
		*s = redisscript.New(source)
	}
	return set
}

// A script that a server runs while the slot of its keys moves must come to its end.
func TestScripts_touchNoKeyThatIsGone(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.scripts = strict(realScripts())
	p := newReplay(r)
	for i := range uint64(2 * replayWalks) {
		p.walk(rand.New(rand.NewPCG(strictSeed, i)))
	}
}

const strictSeed = 3

// The test before proves something only if it notices.
func TestScripts_touchNoKeyThatIsGone_isNoticed(t *testing.T) {
	const freed = `  redis.call('DEL', lockKey)
  if`
	r := newRig(t)
	for _, m := range []struct{ script, old, new string }{
		{"lib", freed, "  redis.call('DEL', lockKey) redis.call('PTTL', lockKey)\n  if"},
		{"lib", `local epoch = take(`, `redis.call('DEL', lockKey) local epoch = take(`},
		{"cancel", `redis.call('ZREM', KEYS[2], id)`, `redis.call('ZREM', KEYS[2], id) redis.call('ZSCORE', KEYS[2], id)`},
	} {
		r.scripts = strict(mutate(t, m.script, m.old, m.new))
		if found := r.walkUntilItFails(2*replayWalks, strictSeed, nil); !strings.Contains(found, "non local key") {
			t.Errorf("%s with %s: found is %q", m.script, m.new, found)
		}
	}
}
