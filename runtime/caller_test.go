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

// Nothing has run under a lease whose caller's context has panicked: MinHold has nothing to keep apart.
func TestLocker_Acquire_contextThatPanicsKeepsNothing(t *testing.T) {
	for calls := range int64(60) {
		sharing(t, func(t *testing.T, store *sharingStore, locks *lockrt.Locker) {
			other := newLocker(t, store, lockrt.Config{Node: "other"})
			ctx := moodyContext{t.Context(), new(atomic.Int64)}
			ctx.left.Store(calls)
			panicked := true
			func() {
				defer func() { _ = recover() }()
				_, _ = locks.Acquire(ctx, "k", lockrt.Options{TTL: ttl, MinHold: time.Hour})
				panicked = false
			}()
			if panicked {
				began := time.Now()
				free(t, mustAcquire(t, other, t.Context(), "k", lockrt.Options{TTL: ttl, Wait: time.Minute}))
				if took := time.Since(began); took > time.Second {
					t.Errorf("%d calls: another process has waited for %s", calls, took)
				}
			}
		})
	}
}

// madContext panics in every method but Deadline from some moment on, as one may that belongs to a request which is over.
type madContext struct {
	context.Context
	mad *atomic.Bool
}

func (c madContext) check() {
	if c.mad.Load() {
		panic("mad")
	}
}

func (c madContext) Done() <-chan struct{} { c.check(); return c.Context.Done() }
func (c madContext) Err() error            { c.check(); return c.Context.Err() }
func (c madContext) Value(key any) any     { c.check(); return c.Context.Value(key) }

// The context of a lease panics when it was acquired long ago. The lease ends all the same, however it does.
func TestLease_contextThatPanicsAfterAcquire(t *testing.T) {
	write, read := lockrt.Options{TTL: ttl, Wait: time.Minute}, lockrt.Options{TTL: ttl, Wait: time.Minute, Mode: lockrt.Read}
	once := write
	once.NoRenew = true
	release := func(_ context.Context, _, _ *lockrt.Locker, leases lockrt.Leases) {
		_ = leases.Release(context.Background())
	}
	for name, of := range map[string]struct {
		o    lockrt.Options
		keys []string
		end  func(ctx context.Context, locks, other *lockrt.Locker, leases lockrt.Leases)
	}{
		"released":         {write, []string{"k"}, release},
		"a reader's":       {read, []string{"k"}, release},
		"one of two":       {write, []string{"j", "k"}, release},
		"one of nine":      {write, []string{"a", "b", "c", "d", "e", "f", "g", "h", "k"}, release},
		"that has run out": {once, []string{"k"}, func(context.Context, *lockrt.Locker, *lockrt.Locker, lockrt.Leases) { time.Sleep(ttl) }},
		"broken": {write, []string{"k"}, func(_ context.Context, _, other *lockrt.Locker, _ lockrt.Leases) {
			_ = other.Break(context.Background(), "k", "why")
		}},
		"of a closed locker": {write, []string{"k"}, func(_ context.Context, locks, _ *lockrt.Locker, _ lockrt.Leases) {
			_ = locks.Close(context.Background())
		}},
		"extended, checked and released with it": {write, []string{"k"},
			func(ctx context.Context, _, _ *lockrt.Locker, leases lockrt.Leases) {
				heard := 0
				for _, call := range []func(*lockrt.Lease) error{
					func(l *lockrt.Lease) error { return l.Extend(ctx, 2*ttl) },
					func(l *lockrt.Lease) error { return l.Check(ctx) },
					func(l *lockrt.Lease) error { return l.Release(ctx) },
				} {
					func() {
						defer func() {
							if recover() != nil {
								heard++
							}
						}()
						_ = call(leases[0])
					}()
				}
				if heard == 0 {
					t.Error("the caller does not hear of the panic")
				}
			}},
	} {
		t.Run(name, func(t *testing.T) {
			sharing(t, func(t *testing.T, store *sharingStore, locks *lockrt.Locker) {
				other := newLocker(t, store, lockrt.Config{Node: "other"})
				parent, cancel := context.WithCancel(t.Context())
				defer cancel()
				ctx := madContext{parent, new(atomic.Bool)}
				leases, err := locks.AcquireAll(ctx, of.keys, of.o)
				if err != nil {
					t.Fatal(err)
				}
				ctx.mad.Store(true)
				of.end(ctx, locks, other, leases)
				began := time.Now()
				for _, key := range of.keys {
					lease, err := other.Acquire(t.Context(), key, write)
					if err != nil || time.Since(began) > time.Second {
						t.Fatalf("another process has waited for %s: %v", time.Since(began), err)
					}
					free(t, lease)
				}
				if lease, err := locks.Acquire(t.Context(), "k", write); err == nil {
					free(t, lease)
				}
			})
		})
	}
}

// A context panics in the midst of an AcquireAll. Nothing stays locked.
func TestLocker_AcquireAll_contextThatPanicsLater(t *testing.T) {
	wait := lockrt.Options{TTL: ttl, Wait: time.Minute}
	for _, keys := range [][]string{{"a"}, {"a", "b", "c"}, {"a", "b", "c", "d", "e", "f", "g", "h", "i"}} {
		for calls := range int64(100) {
			sharing(t, func(t *testing.T, store *sharingStore, locks *lockrt.Locker) {
				other := newLocker(t, store, lockrt.Config{Node: "other"})
				parent, cancel := context.WithCancel(t.Context())
				defer cancel()
				func() {
					defer func() { _ = recover() }()
					ctx := moodyContext{parent, new(atomic.Int64)}
					ctx.left.Store(calls)
					if leases, err := locks.AcquireAll(ctx, keys, wait); err == nil {
						_ = leases.Release(context.Background())
					}
				}()
				for _, from := range []*lockrt.Locker{other, locks} {
					began := time.Now()
					leases, err := from.AcquireAll(t.Context(), keys, wait)
					if took := time.Since(began); err != nil || took > time.Second {
						t.Fatalf("%d keys, %d calls: the next one has waited for %s: %v", len(keys), calls, took, err)
					}
					_ = leases.Release(context.Background())
				}
			})
		}
	}
}
