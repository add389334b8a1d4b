package storetest

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/lockgen/lockgen/internal/testsync"
	lockrt "github.com/lockgen/lockgen/runtime"
)

// What a store says while a request waits, and the place that outlives its caller.
var toldTests = map[string]func(*testing.T, *env){
	"the_holder_is_named_while_a_request_waits": func(t *testing.T, e *env) {
		a, _ := e.session("a")
		b, _ := e.session("b")
		e.take(a, "k", "1", long)
		told := make(chan error, 100)
		req := request("k", 2)
		req.Told = func(busy *lockrt.BusyError, err error) {
			if busy != nil {
				err = busy
			}
			select {
			case told <- err:
			default:
			}
		}
		next := e.wait(e.ctx, b, req)
		select {
		case err := <-told:
			e.busy(err, "k", "a")
		case <-time.After(testsync.Patience):
			t.Error("the store says nothing")
		}
		e.release(a, "k", "1")
		e.granted("2", next)
	},

	"nobody_is_told_of_a_free_lock": func(t *testing.T, e *env) {
		s, _ := e.session("a")
		req := request("k", 1)
		req.Told = func(busy *lockrt.BusyError, err error) { t.Errorf("told of a free lock: %v, %v", busy, err) }
		if _, err := s.Acquire(e.ctx, req); err != nil {
			t.Fatal(err)
		}
	},

	"a_kept_place_is_kept": func(t *testing.T, e *env) {
		a, _ := e.session("a")
		b, _ := e.session("b")
		e.take(a, "k", "holder", long)
		e.keepPlace(b, 1)
		behind := e.wait(e.ctx, a, request("k", 2))
		again := e.wait(e.ctx, b, request("k", 1))
		e.release(a, "k", "holder")
		e.granted("1", again)
		e.release(b, "k", "1")
		e.granted("2", behind)
	},

	"a_kept_place_is_granted_between_its_callers": func(t *testing.T, e *env) {
		a, _ := e.session("a")
		b, _ := e.session("b")
		e.take(a, "k", "holder", long)
		e.keepPlace(b, 1)
		e.release(a, "k", "holder")
		done := make(chan outcome, 1)
		go func() {
			g, err := b.Acquire(e.ctx, request("k", 1))
			done <- outcome{g, err}
		}()
		e.granted("1", done)
		if id := e.info(a, "k").ID; id != "1" {
			t.Errorf("the owner is %q", id)
		}
		e.release(b, "k", "1")
		e.free(a, "k")
	},

	"a_kept_place_is_given_up": func(t *testing.T, e *env) {
		a, _ := e.session("a")
		b, _ := e.session("b")
		e.take(a, "k", "holder", long)
		e.keepPlace(b, 1)
		behind := e.wait(e.ctx, a, request("k", 2))
		ended, cancel := context.WithCancel(e.ctx)
		cancel()
		if _, err := b.Acquire(ended, request("k", 1)); !errors.Is(err, context.Canceled) {
			t.Errorf("acquire with an ended context: %v", err)
		}
		e.release(a, "k", "holder")
		e.granted("2", behind)
	},

	"a_kept_place_that_nobody_takes_ends_with_its_session": func(t *testing.T, e *env) {
		a, _ := e.session("a")
		b, _ := e.session("b")
		e.take(a, "k", "holder", long)
		e.keepPlace(b, 1)
		if err := b.Close(e.ctx); err != nil {
			t.Errorf("close: %v", err)
		}
		if waiters := e.info(a, "k").Waiters; len(waiters) > 0 {
			t.Errorf("a session that is closed waits: %v", waiters)
		}
		behind := e.wait(e.ctx, a, request("k", 2))
		e.release(a, "k", "holder")
		e.granted("2", behind)
	},

	"a_place_that_nobody_keeps_is_left": func(t *testing.T, e *env) {
		a, _ := e.session("a")
		b, _ := e.session("b")
		e.take(a, "k", "holder", long)
		req := request("k", 1)
		req.Keep = func() bool { return false }
		ctx, cancel := context.WithCancel(e.ctx)
		gone := e.wait(ctx, b, req)
		cancel()
		if o := e.outcome("1", gone); !errors.Is(o.err, context.Canceled) {
			t.Errorf("the error is %v, want context.Canceled", o.err)
		}
		testsync.Eventually(t, "the waiter has left the queue", func() bool { return len(e.info(a, "k").Waiters) == 0 })
	},

	"nobody_is_busy_without_a_holder": func(t *testing.T, e *env) {
		// However a request ends: if nobody holds the lock, the error is not busy.
		a, _ := e.session("a")
		ended, cancel := context.WithCancel(e.ctx)
		cancel()
		for _, req := range []lockrt.Request{{Key: "k", ID: "1", TTL: long}, request("k", 2)} {
			if _, err := a.Acquire(ended, req); !errors.Is(err, context.Canceled) || errors.Is(err, lockrt.ErrBusy) {
				t.Errorf("with an ended context and a wait of %s: %v, want context.Canceled and not ErrBusy", req.Wait, err)
			}
		}
		if err := a.Close(e.ctx); err != nil {
			t.Fatal(err)
		}
		if _, err := a.Acquire(e.ctx, request("k", 3)); !errors.Is(err, lockrt.ErrClosed) || errors.Is(err, lockrt.ErrBusy) {
			t.Errorf("from a closed session: %v, want ErrClosed and not ErrBusy", err)
		}
	},

	"close_while_it_opens": func(t *testing.T, e *env) {
		// What a session begins in the background meets its end: the race detector watches.
		ended, cancel := context.WithCancel(e.ctx)
		cancel()
		for range 20 {
			a, _ := e.session("a")
			var callers sync.WaitGroup
			callers.Go(func() { _, _ = a.Acquire(ended, lockrt.Request{Key: "k", ID: "1", TTL: long}) })
			_ = a.Close(ended) // may return before the end, which the cleanup waits for
			callers.Wait()
		}
	},
}

// keepPlace lets a waiter queue up and its caller leave, while the place stays.
func (e *env) keepPlace(s lockrt.Session, i int) {
	e.t.Helper()
	asked := 0
	req := request("k", i)
	req.Keep = func() bool {
		asked++
		return true
	}
	ctx, cancel := context.WithCancel(e.ctx)
	left := e.wait(ctx, s, req)
	cancel()
	o := e.outcome(req.ID, left)
	if !errors.Is(o.err, context.Canceled) {
		e.t.Fatalf("the error is %v, want context.Canceled", o.err)
	}
	switch asked {
	case 0:
		e.t.Skip("this store cannot keep a place for the next caller")
	case 1:
	default:
		e.t.Errorf("Keep was asked %d times, want once", asked)
	}
	if waiters := e.info(s, "k").Waiters; len(waiters) == 0 || waiters[0].ID != req.ID {
		e.t.Fatalf("the place was not kept: %v", waiters)
	}
}
