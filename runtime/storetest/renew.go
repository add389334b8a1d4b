package storetest

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/lockgen/lockgen/internal/testsync"
	lockrt "github.com/lockgen/lockgen/runtime"
)

var renewTests = map[string]func(*testing.T, *env){
	"each_result_is_its_own_lease's": func(t *testing.T, e *env) {
		s, _ := e.session("a")
		var renewals []lockrt.Renewal
		for i := range 250 { // more than a store would put into one call
			key, id := fmt.Sprint("k", i), fmt.Sprint("id", i)
			if i%3 != 0 {
				e.take(s, key, id, long)
			}
			if i%3 == 1 {
				id = "somebody else"
			}
			renewals = append(renewals, lockrt.Renewal{Key: key, ID: id, TTL: 2 * long})
		}
		errs := s.Renew(e.ctx, renewals)
		if len(errs) != len(renewals) {
			t.Fatalf("%d results for %d renewals", len(errs), len(renewals))
		}
		for i, err := range errs {
			if i%3 == 2 && err != nil {
				t.Errorf("renewal of a held lease: %v", err)
			}
			if i%3 != 2 && !errors.Is(err, lockrt.ErrLost) {
				t.Errorf("renewal of a lease that is not the holder: %v, want ErrLost", err)
			}
		}
	},

	"none_is_fine": func(t *testing.T, e *env) {
		s, _ := e.session("a")
		if errs := s.Renew(e.ctx, nil); len(errs) != 0 {
			t.Errorf("results of no renewal: %v", errs)
		}
	},

	"lengthens": func(t *testing.T, e *env) {
		s, _ := e.session("a")
		e.take(s, "k", "1", time.Minute)
		if err := s.Renew(e.ctx, []lockrt.Renewal{{Key: "k", ID: "1", TTL: long}})[0]; err != nil {
			t.Fatal(err)
		}
		if left := e.info(s, "k").Remaining; left <= time.Minute || left > long {
			t.Errorf("%s are left after a renewal to %s", left, long)
		}
	},

	"never_shortens": func(t *testing.T, e *env) {
		// A renewal that was delayed on a dying connection arrives after a longer one.
		s, _ := e.session("a")
		e.take(s, "k", "1", long)
		if err := s.Renew(e.ctx, []lockrt.Renewal{{Key: "k", ID: "1", TTL: short}})[0]; err != nil {
			t.Fatal(err)
		}
		if left := e.info(s, "k").Remaining; left < long/2 {
			t.Errorf("%s are left of %s after a shorter renewal", left, long)
		}
	},

	"does_not_revive_what_has_expired": func(t *testing.T, e *env) {
		s, _ := e.session("a")
		e.take(s, "k", "1", short)
		e.free(s, "k")
		if err := s.Renew(e.ctx, []lockrt.Renewal{{Key: "k", ID: "1", TTL: long}})[0]; !errors.Is(err, lockrt.ErrLost) {
			t.Errorf("renewal of an expired lease that nobody has followed: %v, want ErrLost", err)
		}
		if err := s.Release(e.ctx, lockrt.Release{Key: "k", ID: "1", Keep: long}); !errors.Is(err, lockrt.ErrLost) {
			t.Errorf("release of it: %v, want ErrLost", err)
		}
		if breaker, ok := s.(lockrt.Breaker); ok {
			if err := breaker.Break(e.ctx, lockrt.Breaking{Key: "k", ID: "1", Fence: 1, Reason: "test"}); !errors.Is(err, lockrt.ErrNotHeld) {
				t.Errorf("breaking it: %v, want ErrNotHeld", err)
			}
		}
		e.take(s, "k", "2", long)
	},

	"keeps_the_epoch": func(t *testing.T, e *env) {
		s, _ := e.session("a")
		g := e.take(s, "k", "1", time.Minute)
		if err := s.Renew(e.ctx, []lockrt.Renewal{{Key: "k", ID: "1", TTL: long}})[0]; err != nil {
			t.Fatal(err)
		}
		if f := e.info(s, "k").Fence; f != lockrt.FenceOf(g.Epoch) {
			t.Errorf("fence %d after the renewal, want %d", f, lockrt.FenceOf(g.Epoch))
		}
	},
}

var releaseTests = map[string]func(*testing.T, *env){
	"only_once": func(t *testing.T, e *env) {
		s, _ := e.session("a")
		e.take(s, "k", "1", long)
		e.release(s, "k", "1")
		e.take(s, "k", "2", long)
		if err := s.Release(e.ctx, lockrt.Release{Key: "k", ID: "1"}); !errors.Is(err, lockrt.ErrLost) {
			t.Errorf("second release: %v, want ErrLost", err)
		}
		if id := e.info(s, "k").ID; id != "2" {
			t.Errorf("owner is %q, want 2", id)
		}
	},

	"keep_holds_the_key_for_nobody": func(t *testing.T, e *env) {
		s, _ := e.session("a")
		g := e.take(s, "k", "1", long)
		released := time.Now()
		if err := s.Release(e.ctx, lockrt.Release{Key: "k", ID: "1", Keep: short}); err != nil {
			t.Fatal(err)
		}
		info := e.info(s, "k")
		if time.Since(released) < short/2 && (info.Key == "" || info.ID != "" || info.Node != "") {
			t.Errorf("the kept lock is %+v, want one without holder", info)
		}
		if err := s.Renew(e.ctx, []lockrt.Renewal{{Key: "k", ID: "1", TTL: long}})[0]; !errors.Is(err, lockrt.ErrLost) {
			t.Errorf("renewal of the released lease: %v, want ErrLost", err)
		}
		next, err := s.Acquire(e.ctx, lockrt.Request{Key: "k", ID: "2", TTL: long, Wait: testsync.Patience})
		if err != nil {
			t.Fatal(err)
		}
		if time.Since(released) < short {
			t.Errorf("acquired %s after the release, kept for %s", time.Since(released), short)
		}
		if next.Epoch <= g.Epoch {
			t.Errorf("epoch %d after %d", next.Epoch, g.Epoch)
		}
	},

	"keep_holds_the_key_for_whoever_is_new": func(t *testing.T, e *env) {
		// A session that has done nothing yet may know nothing of the server's time.
		busy := func(s lockrt.Session, wait time.Duration) {
			_, err := s.Acquire(e.ctx, lockrt.Request{Key: "k", ID: "2", TTL: long, Wait: wait})
			if wait > 0 && tooLate(err) {
				return
			}
			if !errors.Is(err, lockrt.ErrBusy) {
				t.Errorf("acquire with Wait %s of a kept lock: %v, want ErrBusy", wait, err)
			}
		}
		a, _ := e.session("a")
		e.take(a, "k", "1", long)
		if err := a.Release(e.ctx, lockrt.Release{Key: "k", ID: "1", Keep: long}); err != nil {
			t.Fatal(err)
		}
		for first, call := range map[string]func(lockrt.Session){
			"try":  func(s lockrt.Session) { busy(s, 0) },
			"wait": func(s lockrt.Session) { busy(s, short) },
			"list": func(s lockrt.Session) { _ = e.info(s, "k") },
			"inspect": func(s lockrt.Session) {
				if i, ok := s.(lockrt.Inspector); ok {
					if info, err := i.Inspect(e.ctx, "k"); err != nil || info.Key == "" || info.Remaining < long/2 {
						t.Errorf("the kept lock is %+v, %v", info, err)
					}
				}
			},
		} {
			b, _ := e.session("b")
			call(b)
			if info := e.info(a, "k"); info.Key == "" || info.ID != "" || info.Remaining < long/2 {
				t.Fatalf("after the first call of a session, %s, the kept lock is %+v", first, info)
			}
		}
	},

	"keep_does_not_delay_waiters_longer": func(t *testing.T, e *env) {
		// The waiter expects the lease to end in ten minutes and must learn of the new end.
		s, _ := e.session("a")
		e.take(s, "k", "1", long)
		done := e.wait(e.ctx, s, request("k", 2))
		if err := s.Release(e.ctx, lockrt.Release{Key: "k", ID: "1", Keep: short}); err != nil {
			t.Fatal(err)
		}
		e.granted("2", done)
	},
}
