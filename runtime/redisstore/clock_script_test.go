package redisstore

import (
	"fmt"
	"testing"
	"time"

	"github.com/lockgen/lockgen/internal/redisscript"
)

// stoppedClock makes a script see one moment for ever. Its µs are few, so that they have to be padded with zeros.
const stoppedClock = `local redis = setmetatable({ call = function(command, ...)
  if command == 'TIME' then return { '1700000000', '42' } end
  return redis.call(command, ...)
end }, { __index = redis })
`

const stoppedMicros = int64(1700000000_000042)

// stop gives the rig scripts for which the clock stands still.
func (r *rig) stop() {
	stopped := func(s *script) *script {
		source := stoppedClock + s.Source
		return redisscript.New(source)
	}
	s := realScripts()
	r.scripts = scriptSet{
		stopped(s.acquire), stopped(s.release), stopped(s.retain), stopped(s.cancel), stopped(s.renew), stopped(s.held), stopped(s.alive),
		stopped(s.brk), stopped(s.acquireShared), stopped(s.releaseShared), stopped(s.renewShared), stopped(s.downgrade),
		stopped(s.cancelShared), stopped(s.heldShared), stopped(s.aliveShared),
	}
}

// Many grants in one µs, or with a clock that was set back, differ all the same; and none is said to be as late as its
// epoch, which would make its holder believe in it for longer than the server does.
func TestScripts_clockThatStandsStill(t *testing.T) {
	r := newRig(t)
	r.stop()
	epoch := uint64(stoppedMicros) - 1
	for range 3 {
		a := r.acquire("a", "p", 0)
		if epoch++; !a.granted || a.epoch != epoch || a.since != stoppedMicros || a.clock.Micros != stoppedMicros {
			t.Fatalf("the answer is %+v, want epoch %d since %d", a, epoch, stoppedMicros)
		}
		r.release("a", 0)
	}
	r.acquire("a", "p", 0)
	in := r.listen("q")
	for i := range 4 {
		r.acquire(fmt.Sprint("w", i), "q", rigLiveness)
	}
	epoch += 2
	r.release("a", 0)
	in.wantNext(fmt.Sprint("grant w0 ", epoch, " ", stoppedMicros))
	epoch++
	r.cancel("w0")
	in.wantNext(fmt.Sprint("grant w1 ", epoch, " ", stoppedMicros))
	epoch++
	r.expire(r.keys.lock)
	r.acquire("w3", "q", rigLiveness) // asks again, and makes the first in line the owner
	in.wantNext(fmt.Sprint("grant w2 ", epoch, " ", stoppedMicros))
	epoch += 2 // that of w2 is broken, and one more
	r.brk("test", true)
	if sent := in.drain(); len(sent) != 2 || sent[1] != fmt.Sprint("grant w3 ", epoch, " ", stoppedMicros, " ", rigTTL) {
		t.Errorf("the process was sent %q, want the loss of w2 and the grant of w3 with epoch %d", sent, epoch)
	}
	if again := r.acquire("w3", "q", 0); !again.granted || again.epoch != epoch || again.since != stoppedMicros {
		t.Errorf("asked again: %+v, want the same grant", again)
	}
}

// The floor is there for the retention after the lease, however that came to be; not for less, because fences would
// fall, and not for more, because keys that are used once would fill the memory.
func TestScripts_floorIsKeptForTheRetention(t *testing.T) {
	const (
		short     = 2 * time.Minute
		long      = time.Duration(rigTTL) * time.Millisecond
		retention = time.Duration(rigRetention) * time.Millisecond
	)
	for name, test := range map[string]struct {
		lease time.Duration
		grant func(r *rig)
	}{
		"acquire": {long, func(r *rig) { r.acquire("a", "p", 0) }},
		"acquire, the clock behind the floor": {long, func(r *rig) {
			r.stop()
			r.acquire("a", "p", 0)
			r.release("a", 0)
			r.acquire("b", "p", 0)
		}},
		"acquire, past dead waiters": {short, func(r *rig) {
			r.acquire("a", "p", 0)
			r.acquire("dead", "q", rigLiveness)
			r.silence("q")
			r.expire(r.keys.lock)
			r.acquireFor("b", "s", short)
		}},
		"acquire, for the first in line": {short, func(r *rig) {
			r.acquire("a", "p", 0)
			r.acquireFor("b", "s", short)
			r.expire(r.keys.lock)
			r.acquire("c", "q", rigLiveness)
		}},
		"release": {short, func(r *rig) {
			r.acquire("a", "p", 0)
			r.acquireFor("b", "s", short)
			r.release("a", 0)
		}},
		"cancel": {short, func(r *rig) {
			r.acquire("a", "p", 0)
			r.acquireFor("b", "s", short)
			r.cancel("a")
		}},
		"retain": {short, func(r *rig) {
			r.acquire("a", "p", 0)
			r.release("a", short.Milliseconds())
		}},
		"break": {long, func(r *rig) {
			r.acquire("a", "p", 0)
			r.brk("test", false)
		}},
		"break, handed on": {short, func(r *rig) {
			r.acquire("a", "p", 0)
			r.acquireFor("b", "s", short)
			r.brk("test", true)
		}},
		"renew to a longer lease": {2 * long, func(r *rig) {
			r.acquire("a", "p", 0)
			r.renew("a", 2*rigTTL)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			test.grant(r)
			const slack = time.Minute // how long the test may take
			want := retention + test.lease
			if left := r.pttl(r.keys.floor); left > want || left < want-slack {
				t.Errorf("the floor expires in %s, want %s after a lease of %s", left, want, test.lease)
			}
		})
	}
}
