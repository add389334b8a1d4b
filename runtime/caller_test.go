package lockrt_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	lockrt "github.com/lockgen/lockgen/runtime"
)

// moodyContext panics in every call of a method from some call on.
type moodyContext struct {
	context.Context
	left *atomic.Int64
}

func (c moodyContext) spend() {
	if c.left.Add(-1) < 0 {
		panic("moody")
	}
}

func (c moodyContext) Done() <-chan struct{}       { c.spend(); return c.Context.Done() }
func (c moodyContext) Err() error                  { c.spend(); return c.Context.Err() }
func (c moodyContext) Value(key any) any           { c.spend(); return c.Context.Value(key) }
func (c moodyContext) Deadline() (time.Time, bool) { c.spend(); return c.Context.Deadline() }

// A context of the caller's own panics in the midst of a call, whichever of its methods is asked and for the how manieth
// time. The caller hears of that, and nobody else: neither those who wait behind it in its process nor other processes.
func TestLocker_Acquire_contextThatPanicsLater(t *testing.T) {
	const most = 60
	type where struct {
		name     string
		o        lockrt.Options
		held     bool // when the call begins
		handsOn  bool // the holder is of the same process
		canceled bool // the context ends before the lock is free
	}
	wait := lockrt.Options{TTL: ttl, Wait: time.Minute}
	reader := lockrt.Options{TTL: ttl, Wait: time.Minute, Mode: lockrt.Read}
	for _, w := range []where{
		{name: "a free lock", o: lockrt.Options{TTL: ttl}},
		{name: "a free lock, with a wait", o: wait},
		{name: "a free lock, reading", o: reader},
		{name: "another process has it", o: wait, held: true},
		{name: "another process has it, the context ends", o: wait, held: true, canceled: true},
		{name: "another process reads", o: reader, held: true},
		{name: "the own process has it", o: wait, held: true, handsOn: true},
		{name: "the own process has it, the context ends", o: wait, held: true, handsOn: true, canceled: true},
		{name: "the own process reads", o: reader, held: true, handsOn: true},
	} {
		t.Run(w.name, func(t *testing.T) {
			for calls := range int64(most) {
				sharing(t, func(t *testing.T, store *sharingStore, locks *lockrt.Locker) {
					other := newLocker(t, store, lockrt.Config{Node: "other"})
					if w.held {
						from := other
						if w.handsOn {
							from = locks
						}
						holder := mustAcquire(t, from, t.Context(), "k", w.o)
						time.AfterFunc(3*time.Second, func() { free(t, holder) })
					}
					parent, cancel := context.WithCancel(t.Context())
					defer cancel()
					if w.canceled {
						time.AfterFunc(time.Second, cancel)
					}
					done := make(chan struct{})
					go func() {
						defer close(done)
						defer func() { _ = recover() }()
						ctx := moodyContext{parent, new(atomic.Int64)}
						ctx.left.Store(calls)
						lease, err := locks.Acquire(ctx, "k", w.o)
						if err == nil {
							ctx.left.Store(calls)
							_ = lease.Release(ctx)
						}
					}()
					behind := make(chan struct{})
					go func() { // in the same process
						defer close(behind)
						time.Sleep(time.Millisecond)
						began := time.Now()
						lease, err := locks.Acquire(t.Context(), "k", wait)
						if err != nil || time.Since(began) > 4*time.Second {
							t.Errorf("%d calls: the next caller has waited for %s: %v", calls, time.Since(began), err)
						}
						if lease != nil {
							free(t, lease)
						}
					}()
					<-done
					<-behind
					began := time.Now()
					mustRelease(t, mustAcquire(t, other, t.Context(), "k", wait))
					if took := time.Since(began); took > time.Second {
						t.Errorf("%d calls: another process has waited for %s", calls, took)
					}
				})
			}
		})
	}
}

func free(t *testing.T, lease *lockrt.Lease) {
	if err := lease.Release(context.Background()); err != nil {
		t.Error(err)
	}
}
