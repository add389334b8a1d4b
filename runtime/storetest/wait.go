package storetest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lockgen/lockgen/internal/testsync"
	lockrt "github.com/lockgen/lockgen/runtime"
)

var waitTests = map[string]func(*testing.T, *env){
	"first_come_first_served_over_sessions": func(t *testing.T, e *env) {
		sessions := make([]lockrt.Session, 3)
		for i := range sessions {
			sessions[i], _ = e.session(fmt.Sprint("node", i))
		}
		last := e.take(sessions[0], "k", "holder", long)
		var waiting []<-chan outcome
		for i := range 12 {
			waiting = append(waiting, e.wait(e.ctx, sessions[i%3], request("k", i)))
		}
		e.release(sessions[0], "k", "holder")
		for i, done := range waiting {
			g := e.granted(fmt.Sprint(i), done)
			if g.Epoch <= last.Epoch {
				t.Fatalf("epoch %d after %d", g.Epoch, last.Epoch)
			}
			last = g
			if id := e.info(sessions[0], "k").ID; id != fmt.Sprint(i) {
				t.Fatalf("owner is %q, want the waiter that came as number %d", id, i)
			}
			e.release(sessions[i%3], "k", fmt.Sprint(i))
		}
		if info := e.info(sessions[0], "k"); info.ID != "" {
			t.Errorf("held by %q at the end", info.ID)
		}
	},

	"no_barging": func(t *testing.T, e *env) {
		s, _ := e.session("a")
		e.take(s, "k", "holder", long)
		done := e.wait(e.ctx, s, request("k", 1))
		e.release(s, "k", "holder")
		_, err := s.Acquire(e.ctx, lockrt.Request{Key: "k", ID: "barger", TTL: long})
		e.busy(err, "k", "a")
		e.granted("1", done)
	},

	"holder_that_never_releases": func(t *testing.T, e *env) {
		a, _ := e.session("a")
		b, _ := e.session("b")
		old := e.take(a, "k", "dead", short)
		first := e.wait(e.ctx, b, request("k", 1))
		second := e.wait(e.ctx, a, request("k", 2))
		g := e.granted("1", first)
		if time.Now().Before(old.Start.Add(short)) {
			t.Errorf("granted while the old lease was live")
		}
		if g.Epoch <= old.Epoch {
			t.Errorf("epoch %d after %d", g.Epoch, old.Epoch)
		}
		e.release(b, "k", "1")
		e.granted("2", second)
	},

	"waiter_that_dies_with_its_grant": func(t *testing.T, e *env) {
		// The one behind it counts on a lease that ends in ten minutes, and is to get the lock at the end of a short one.
		a, _ := e.session("a")
		b, _ := e.session("b")
		for ttl := short; ; ttl *= 4 {
			key := "k" + ttl.String()
			e.take(a, key, "holder", long)
			dies := request(key, 1)
			dies.TTL = ttl
			ctx, leave := context.WithCancel(e.ctx)
			first := e.wait(ctx, a, dies)
			second := e.wait(e.ctx, b, request(key, 2))
			e.release(a, key, "holder")
			g := e.granted("2", second)
			if len(first) == 0 && ttl < testsync.Patience { // a slow machine: the lease was over before it was known
				leave()
				e.outcome("1", first)
				continue
			}
			old := e.granted("1", first)
			leave()
			if time.Now().Before(old.Start.Add(ttl)) {
				t.Errorf("granted while the old lease was live")
			}
			if g.Epoch <= old.Epoch {
				t.Errorf("epoch %d after %d", g.Epoch, old.Epoch)
			}
			return
		}
	},

	"wait_that_runs_out_is_busy": func(t *testing.T, e *env) {
		a, _ := e.session("a")
		b, _ := e.session("b")
		e.take(a, "k", "holder", long)
		wait, err := 30*time.Millisecond, error(nil)
		for ; wait < testsync.Patience; wait *= 4 { // a store that is slow has not said by then who is in the way
			_, err = b.Acquire(e.ctx, lockrt.Request{Key: "k", ID: "1", TTL: long, Wait: wait})
			if errors.Is(err, lockrt.ErrBusy) {
				break
			}
		}
		e.busy(err, "k", "a")
		if errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the error of a wait that ran out is a context's: %v", err)
		}
		testsync.Eventually(e.t, "the waiter has left the queue", func() bool { return len(e.info(a, "k").Waiters) == 0 })
	},

	"context_that_ends_is_joined_with_the_holder": func(t *testing.T, e *env) {
		a, _ := e.session("a")
		b, _ := e.session("b")
		e.take(a, "k", "holder", long)
		ctx, cancel := context.WithCancel(e.ctx)
		req, told := e.telling(request("k", 1))
		gone := e.wait(ctx, b, req)
		next := e.wait(e.ctx, b, request("k", 2))
		told()
		cancel()
		o := e.outcome("1", gone)
		if !errors.Is(o.err, context.Canceled) {
			t.Errorf("the error is %v, want context.Canceled", o.err)
		}
		e.busy(o.err, "k", "a")
		e.release(a, "k", "holder")
		e.granted("2", next) // the one that gave up does not stand in the way
	},

	"close_ends_the_wait": func(t *testing.T, e *env) {
		a, _ := e.session("a")
		b, _ := e.session("b")
		e.take(a, "k", "holder", long)
		done := e.wait(e.ctx, b, request("k", 1))
		if err := b.Close(e.ctx); err != nil {
			t.Fatal(err)
		}
		if o := e.outcome("1", done); !errors.Is(o.err, lockrt.ErrClosed) || errors.Is(o.err, lockrt.ErrBusy) {
			t.Errorf("the error is %v, want ErrClosed and not ErrBusy", o.err)
		}
		for _, wait := range []time.Duration{0, long} {
			late := lockrt.Request{Key: "other", ID: "3", TTL: long, Wait: wait}
			if _, err := b.Acquire(e.ctx, late); !errors.Is(err, lockrt.ErrClosed) {
				t.Errorf("acquire from a closed session, to wait for %s: %v, want ErrClosed", wait, err)
			}
		}
		next := e.wait(e.ctx, a, request("k", 2))
		e.release(a, "k", "holder")
		e.granted("2", next)
	},

	"random_cancellation": func(t *testing.T, e *env) {
		sessions := make([]lockrt.Session, 3)
		for i := range sessions {
			sessions[i], _ = e.session(fmt.Sprint("node", i))
		}
		const waiters, patientOnes = 200, 20
		var inside atomic.Int32
		visit := func(i int) (served bool, err error) {
			s, ctx := sessions[i%3], e.ctx
			patient := i%(waiters/patientOnes) == 0 // they wait to the end
			if !patient {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, rand.N(100*time.Millisecond))
				defer cancel()
			}
			if _, err := s.Acquire(ctx, request("k", i)); err != nil {
				if patient {
					return false, fmt.Errorf("patient waiter %d: %w", i, err)
				}
				return false, nil
			}
			if n := inside.Add(1); n != 1 {
				err = fmt.Errorf("%d hold the lock", n)
			}
			time.Sleep(rand.N(time.Millisecond))
			inside.Add(-1)
			return true, errors.Join(err, e.releaseSlowly(s, "k", fmt.Sprint(i)))
		}
		type result struct {
			served bool
			err    error
		}
		results := make(chan result, waiters)
		for i := range waiters {
			go func() {
				served, err := visit(i)
				results <- result{served, err}
			}()
		}
		served, over := 0, time.After(testsync.Patience)
		for range waiters {
			select {
			case r := <-results:
				if r.err != nil {
					t.Error(r.err)
				}
				if r.served {
					served++
				}
			case <-over:
				t.Fatalf("after %d were served the lock belongs to %+v; does a waiter that gave up stay in the queue?",
					served, e.info(sessions[0], "k"))
			}
		}
		if served < patientOnes {
			t.Errorf("%d were served, want at least the %d patient ones", served, patientOnes)
		}
		e.free(sessions[0], "k")
	},
}

// releaseSlowly repeats a release that the store did not answer in time.
func (e *env) releaseSlowly(s lockrt.Session, key, id string) error {
	err := s.Release(e.ctx, lockrt.Release{Key: key, ID: id})
	if err == nil || errors.Is(err, lockrt.ErrLost) {
		return err
	}
	for end := time.Now().Add(testsync.Patience); time.Now().Before(end); {
		if err = s.Release(e.ctx, lockrt.Release{Key: key, ID: id}); err == nil || errors.Is(err, lockrt.ErrLost) {
			return nil // an earlier one has done it
		}
	}
	return err
}

// request is that of a patient waiter, named by its number.
func request(key string, i int) lockrt.Request {
	return lockrt.Request{Key: key, ID: fmt.Sprint(i), TTL: long, Wait: lockrt.Forever}
}

// telling is a request whose caller can wait until it is told who has the lock: others may see it in the queue before.
func (e *env) telling(req lockrt.Request) (_ lockrt.Request, told func()) {
	busy := make(chan struct{})
	var once sync.Once
	req.Told = func(by *lockrt.BusyError, _ error) {
		if by != nil {
			once.Do(func() { close(busy) })
		}
	}
	return req, func() {
		e.t.Helper()
		select {
		case <-busy:
		case <-time.After(testsync.Patience):
			e.t.Fatalf("%q is told nothing while it waits", req.ID)
		}
	}
}
