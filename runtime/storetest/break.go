package storetest

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lockgen/lockgen/internal/pace"
	"github.com/lockgen/lockgen/internal/testsync"
	lockrt "github.com/lockgen/lockgen/runtime"
)

// A Break ends the lease that it names, and no other, however often it is asked for and whatever it crosses with.
var breakTests = map[string]func(*testing.T, *env){
	"the_lock_goes_on_when_Lost_has_returned": func(t *testing.T, e *env) {
		var ended atomic.Bool
		a := e.sessionThat("a", func(string, error) {
			time.Sleep(30 * time.Millisecond) // it is here that the work's context ends
			ended.Store(true)
		})
		b, _ := e.session("b")
		breaker := e.breaker(b)
		old := e.take(a, "k", "1", long)
		e.believes(a, "k", "1")
		next := e.wait(e.ctx, b, request("k", 2))
		if err := breaker.Break(e.ctx, breaking("1", old, "why")); err != nil {
			t.Fatal(err)
		}
		g := e.granted("2", next)
		if !ended.Load() {
			t.Error("granted while the holder did not know")
		}
		if g.Epoch <= old.Epoch {
			t.Errorf("epoch %d after the broken %d", g.Epoch, old.Epoch)
		}
	},

	"a_holder_that_finds_out_by_itself_and_closes_leaves_nothing": func(t *testing.T, e *env) {
		b, _ := e.session("b")
		breaker := e.breaker(b)
		finds := map[string]func(s lockrt.Session) error{
			"renewal": func(s lockrt.Session) error {
				return s.Renew(e.ctx, []lockrt.Renewal{{Key: "k", ID: "1", TTL: long}})[0]
			},
			"longer renewal": func(s lockrt.Session) error {
				return s.Renew(e.ctx, []lockrt.Renewal{{Key: "k", ID: "1", TTL: 2 * long}})[0]
			},
		}
		if _, ok := b.(lockrt.Checker); ok {
			finds["check"] = func(s lockrt.Session) error {
				return s.(lockrt.Checker).Check(e.ctx, []lockrt.HeldLease{{Key: "k", ID: "1"}})[0]
			}
		}
		if _, ok := b.(lockrt.Downgrader); ok {
			finds["downgrade"] = func(s lockrt.Session) error {
				_, err := s.(lockrt.Downgrader).Downgrade(e.ctx, lockrt.Downgrading{Key: "k", ID: "1"})
				return err
			}
		}
		for name, ask := range finds {
			for range e.rounds(5) {
				a, _ := e.session("a")
				held := e.take(a, "k", "1", long)
				e.believes(a, "k", "1")
				if err := breaker.Break(e.ctx, breaking("1", held, "why")); err != nil {
					t.Fatal(err)
				}
				if err := ask(a); err == nil {
					t.Errorf("%s: the lease was broken, and the store says that it is held", name)
				}
				if err := a.Close(context.Background()); err != nil {
					t.Errorf("close: %v", err)
				}
				if who := e.info(b, "k"); who.Key != "" {
					t.Fatalf("%s: the lock belongs to %q of a session that is closed", name, who.ID)
				}
			}
		}
	},

	"the_lock_goes_on_when_Lost_returns_to_a_session_that_closes": func(t *testing.T, e *env) {
		var ended atomic.Bool
		told, closing := make(chan struct{}, 1), make(chan struct{})
		a := e.sessionThat("a", func(string, error) {
			pace.Wake(told)
			<-closing
			time.Sleep(100 * time.Millisecond) // Close ends what else there is to end
			ended.Store(true)
		})
		let := sync.OnceFunc(func() { close(closing) })
		t.Cleanup(let)
		b, _ := e.session("b")
		breaker := e.breaker(b)
		old := e.take(a, "k", "1", long)
		e.believes(a, "k", "1")
		next := e.wait(e.ctx, b, request("k", 2))
		broken := make(chan error, 1)
		go func() { broken <- breaker.Break(e.ctx, breaking("1", old, "why")) }()
		select {
		case <-told:
		case <-e.ctx.Done():
			t.Fatal("the holder was not told of the Break")
		}
		closed := make(chan error, 1)
		go func() { closed <- a.Close(context.Background()) }()
		testsync.Eventually(t, "the session is closing", func() bool {
			_, err := a.Acquire(e.ctx, lockrt.Request{Key: "other", ID: "3", TTL: short})
			return errors.Is(err, lockrt.ErrClosed)
		})
		let()
		e.granted("2", next)
		if !ended.Load() {
			t.Error("granted while the holder did not know")
		}
		if err := <-closed; err != nil {
			t.Errorf("close: %v", err)
		}
		if err := <-broken; err != nil {
			t.Errorf("break: %v", err)
		}
	},

	"renewal_is_refused": func(t *testing.T, e *env) {
		a, _ := e.session("a")
		breaker := e.breaker(a)
		old := e.take(a, "k", "1", long)
		if err := breaker.Break(e.ctx, breaking("1", old, "why")); err != nil {
			t.Fatal(err)
		}
		if err := a.Renew(e.ctx, []lockrt.Renewal{{Key: "k", ID: "1", TTL: long}})[0]; !errors.Is(err, lockrt.ErrLost) {
			t.Errorf("renewal of the broken lease: %v, want ErrLost", err)
		}
	},

	"a_repeated_break_hits_nobody_else": func(t *testing.T, e *env) {
		a, _ := e.session("a")
		b, losses := e.session("b")
		breaker := e.breaker(b)
		old := e.take(a, "k", "1", long)
		e.believes(a, "k", "1")
		next := e.wait(e.ctx, b, request("k", 2))
		for i := range 3 { // the first answer may have been lost
			err := breaker.Break(e.ctx, breaking("1", old, "why"))
			if err != nil && (i == 0 || !errors.Is(err, lockrt.ErrNotHeld)) {
				t.Errorf("break number %d: %v", i+1, err)
			}
		}
		g := e.granted("2", next)
		if err := breaker.Break(e.ctx, breaking("1", old, "why")); !errors.Is(err, lockrt.ErrNotHeld) {
			t.Errorf("break of a lease that is over: %v, want ErrNotHeld", err)
		}
		for name, other := range map[string]lockrt.Breaking{
			"another lease's fence": breaking("2", old, "why"), "another lease's id": breaking("1", g, "why"),
		} {
			if err := breaker.Break(e.ctx, other); !errors.Is(err, lockrt.ErrNotHeld) {
				t.Errorf("break with %s: %v, want ErrNotHeld", name, err)
			}
		}
		if err := b.Renew(e.ctx, []lockrt.Renewal{{Key: "k", ID: "2", TTL: long}})[0]; err != nil {
			t.Errorf("renewal of the lease that nobody broke: %v", err)
		}
		select {
		case l := <-losses:
			t.Errorf("the next holder is told of %q: %v", l.id, l.reason)
		default:
		}
		e.release(b, "k", "2")
	},

	"kept_lock": func(t *testing.T, e *env) {
		a, _ := e.session("a")
		breaker := e.breaker(a)
		e.take(a, "k", "1", long)
		if err := a.Release(e.ctx, lockrt.Release{Key: "k", ID: "1", Keep: long}); err != nil {
			t.Fatal(err)
		}
		next := e.wait(e.ctx, a, request("k", 2))
		info := e.info(a, "k")
		if err := breaker.Break(e.ctx, lockrt.Breaking{Key: "k", ID: info.ID, Fence: info.Fence, Reason: "why"}); err != nil {
			t.Fatalf("break of a lock that is kept by MinHold: %v", err)
		}
		e.granted("2", next)
	},

	"holder_that_does_not_answer": func(t *testing.T, e *env) {
		a, _ := e.session("a")
		b, _ := e.session("b")
		breaker := e.breaker(b)
		old := e.take(a, "k", "1", short)
		if err := a.Close(e.ctx); err != nil { // it hears of nothing any more
			t.Fatal(err)
		}
		next := e.wait(e.ctx, b, request("k", 2))
		if err := breaker.Break(e.ctx, breaking("1", old, "why")); err != nil && !errors.Is(err, lockrt.ErrNotHeld) {
			t.Fatal(err)
		}
		e.granted("2", next) // at the end of the lease at the latest
	},

	"force_hands_on_at_once": func(t *testing.T, e *env) {
		a, _ := e.session("a")
		b, _ := e.session("b")
		breaker := e.breaker(b)
		old := e.take(a, "k", "1", long)
		if err := a.Close(e.ctx); err != nil {
			t.Fatal(err)
		}
		next := e.wait(e.ctx, b, request("k", 2))
		forced := breaking("1", old, "its machine burnt down")
		forced.Force = true
		for i := range 2 {
			if err := breaker.Break(e.ctx, forced); err != nil && (i == 0 || !errors.Is(err, lockrt.ErrNotHeld)) {
				t.Errorf("force number %d: %v", i+1, err)
			}
		}
		if g := e.granted("2", next); g.Epoch <= old.Epoch {
			t.Errorf("epoch %d after the broken %d", g.Epoch, old.Epoch)
		}
		if id := e.info(b, "k").ID; id != "2" {
			t.Errorf("the owner is %q", id)
		}
	},
}

// breaker ends the test if the store cannot break locks.
func (e *env) breaker(s lockrt.Session) lockrt.Breaker {
	e.t.Helper()
	breaker, ok := s.(lockrt.Breaker)
	if !ok {
		e.t.Skip("this store has no Breaker")
	}
	return breaker
}

func breaking(id string, g lockrt.Grant, reason string) lockrt.Breaking {
	return lockrt.Breaking{Key: "k", ID: id, Fence: lockrt.FenceOf(g.Epoch), Reason: reason}
}

func first(s lockrt.Session, _ <-chan loss) lockrt.Session { return s }
