package storetest

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/lockgen/lockgen/internal/testsync"
	lockrt "github.com/lockgen/lockgen/runtime"
)

// A release that crosses with a change of the same lease ends that all the same: the key passes on, at once or when it was
// kept for long enough. Leases are so long here that no key gets free by their end.
var releaseCrossingTests = map[string]func(*testing.T, *env){
	"a_longer_renewal": func(t *testing.T, e *env) {
		a, _ := e.session("a")
		e.releaseCrosses(a, func(lease lockrt.Release, _ lockrt.Grant) error {
			return a.Renew(e.ctx, []lockrt.Renewal{{Key: lease.Key, ID: lease.ID, TTL: 2 * long}})[0]
		}, lockrt.ErrLost)
	},

	"a_break": func(t *testing.T, e *env) {
		a, _ := e.session("a")
		b, _ := e.session("b")
		breaker := e.breaker(b)
		e.releaseCrosses(a, func(lease lockrt.Release, g lockrt.Grant) error {
			of := breaking(lease.ID, g, "crossing")
			of.Key = lease.Key
			return breaker.Break(e.ctx, of)
		}, lockrt.ErrNotHeld)
	},
}

// releaseCrosses has a release of session a cross with a change of its lease, which fails with over if it comes too late.
// Some leases are kept by MinHold.
func (e *env) releaseCrosses(a lockrt.Session, change func(lockrt.Release, lockrt.Grant) error, over error) {
	e.t.Helper()
	next, _ := e.session("next")
	for _, keep := range []bool{false, true} {
		at := meeting{step: short / 100}
		for round := range e.rounds(40) {
			id := fmt.Sprintf("%t-%d", keep, round)
			rel := lockrt.Release{Key: "k" + id, ID: id}
			if keep {
				rel.Keep = short / 10
			}
			g := e.take(a, rel.Key, rel.ID, long)
			e.believes(a, rel.Key, rel.ID)
			changed := make(chan error, 1)
			go func() {
				time.Sleep(at.offset)
				changed <- change(rel, g)
			}()
			time.Sleep(-at.offset)
			released := a.Release(e.ctx, rel)
			err := <-changed
			if err != nil && !errors.Is(err, over) || released != nil && !errors.Is(released, lockrt.ErrLost) {
				e.t.Fatalf("round %d: the change says %v, the release %v", round, err, released)
			}
			at.was(err == nil)
			_, err = next.Acquire(e.ctx, lockrt.Request{Key: rel.Key, ID: "next" + id, TTL: long, Wait: testsync.Patience / 2})
			if err != nil {
				e.t.Fatalf("round %d, kept %t: after a release that crossed and said %v the lock is not passed on: %v",
					round, keep, released, err)
			}
			e.release(next, rel.Key, "next"+id)
		}
	}
}
