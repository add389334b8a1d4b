package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/lockgen/lockgen/internal/testsync"
	lockrt "github.com/lockgen/lockgen/runtime"
)

// A grant that crosses with the end of the wait belongs to no caller: it passes to the next waiter, and without one the
// key is free again. Leases are so long here that no key gets free by their end.
var crossingTests = map[string]func(*testing.T, *env){
	"context": func(t *testing.T, e *env) {
		// The lock is released when the store asks why the context has ended: then it has made up its mind to leave, and
		// has not left the queue yet.
		s, _ := e.session("a")
		for i := range e.rounds(20) {
			holder := e.hold(s, i)
			ctx := &lastMoment{Context: e.ctx, done: make(chan struct{}), act: holder.release}
			gone := e.wait(ctx, s, request("k", i))
			next := e.wait(e.ctx, s, request("k", -1-i))
			close(ctx.done)
			o := e.outcome(fmt.Sprint(i), gone)
			_ = ctx.Err() // in case that the store has not asked
			<-holder.released
			e.crossed(s, i, o)
			e.granted(fmt.Sprint(-1-i), next)
			e.release(s, "k", fmt.Sprint(-1-i))
			e.free(s, "k")
		}
	},

	"wait": func(t *testing.T, e *env) {
		s, _ := e.session("a")
		at := meeting{step: time.Millisecond}
		for i := range e.rounds(100) {
			holder := e.hold(s, i)
			req := request("k", i)
			req.Wait = 10 * time.Millisecond
			time.AfterFunc(req.Wait+at.offset, holder.release)
			g, err := s.Acquire(e.ctx, req)
			at.was(err == nil)
			<-holder.released
			e.crossed(s, i, outcome{g, err})
			e.free(s, "k")
		}
	},

	"close": func(t *testing.T, e *env) {
		s, _ := e.session("a")
		at := meeting{step: time.Millisecond}
		for i := range e.rounds(40) {
			holder := e.hold(s, i)
			leaving, _ := e.session("b")
			gone := e.wait(e.ctx, leaving, request("k", i))
			next := e.wait(e.ctx, s, request("k", -1-i))
			time.AfterFunc(at.offset, holder.release)
			time.Sleep(-at.offset)
			if err := leaving.Close(e.ctx); err != nil {
				t.Fatal(err)
			}
			o := e.outcome(fmt.Sprint(i), gone)
			at.was(o.err == nil)
			<-holder.released
			e.crossed(s, i, o)
			e.granted(fmt.Sprint(-1-i), next)
			e.release(s, "k", fmt.Sprint(-1-i))
			e.free(s, "k")
		}
	},
}

// holding is a lease on "k" that is released once.
type holding struct {
	release  func()
	released chan struct{} // closed when release has returned
}

func (e *env) hold(s lockrt.Session, round int) holding {
	e.t.Helper()
	id := fmt.Sprint("holder-", round)
	testsync.Eventually(e.t, "the lock is free for "+id, func() bool { // what came too late for the round before is taken back
		_, err := s.Acquire(e.ctx, lockrt.Request{Key: "k", ID: id, TTL: long})
		if err != nil && !errors.Is(err, lockrt.ErrBusy) {
			e.t.Fatalf("acquire for %q: %v", id, err)
		}
		return err == nil
	})
	h := holding{released: make(chan struct{})}
	h.release = func() {
		defer close(h.released)
		if err := s.Release(e.ctx, lockrt.Release{Key: "k", ID: id}); err != nil {
			e.t.Errorf("release of %q: %v", id, err)
		}
	}
	return h
}

// crossed releases what the watched waiter of a round was granted after all.
func (e *env) crossed(s lockrt.Session, round int, o outcome) {
	e.t.Helper()
	if o.err == nil {
		e.release(s, "k", fmt.Sprint(round))
	}
}

// lastMoment is a context that ends with done, and acts before it says so.
type lastMoment struct {
	context.Context
	done chan struct{}
	act  func()
	once sync.Once
}

// Done implements context.Context.
func (c *lastMoment) Done() <-chan struct{} { return c.done }

// Err implements context.Context.
func (c *lastMoment) Err() error {
	select {
	case <-c.done:
	default:
		return nil
	}
	c.once.Do(func() {
		acted := make(chan struct{})
		go func() {
			defer close(acted)
			c.act()
		}()
		select {
		case <-acted:
		case <-time.After(100 * time.Millisecond): // the store asks under a mutex that the act needs
		}
	})
	return context.Canceled
}

// meeting looks for the moment at which two things cross: what came too soon comes later the next time.
type meeting struct{ offset, step time.Duration }

func (m *meeting) was(tooSoon bool) {
	if tooSoon {
		m.offset += m.step
	} else {
		m.offset -= m.step
	}
	m.step = max(m.step*9/10, 20*time.Microsecond)
}
