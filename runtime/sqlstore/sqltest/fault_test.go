package sqltest

import (
	"context"
	"crypto/rand"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/lockgen/lockgen/internal/testenv"
	"github.com/lockgen/lockgen/internal/testsync"
	lockrt "github.com/lockgen/lockgen/runtime"
)

// A server that is silent, or whose connections break. It is neither a busy lock, nor the end of anybody's context.
func TestStore_faults(t *testing.T) {
	engines(t, func(t *testing.T, e *engine) {
		for name, test := range map[string]func(t *testing.T, far, near *engine, p *testenv.Proxy){
			"silent: callers leave in time":        silentServer,
			"silent: the lease is lost in time":    silentHolder,
			"silent: close is bounded":             silentClose,
			"a waiter outlives broken connections": cutWaiter,
			"a release is repeated":                cutRelease,
		} {
			t.Run(name, func(t *testing.T) {
				far := *e
				var p *testenv.Proxy
				far.db, p = e.through(t)
				test(t, &far, e, p)
			})
		}
	})
}

func silentServer(t *testing.T, far, near *engine, p *testenv.Proxy) {
	s, _ := far.session(t, "a")
	take(t, s, "held", "1", long)
	p.Silence()
	defer p.Resume()
	var calls sync.WaitGroup
	for name, call := range map[string]func(context.Context) error{
		"acquire": func(ctx context.Context) error {
			_, err := s.Acquire(ctx, lockrt.Request{Key: "k", ID: rand.Text(), TTL: long})
			return err
		},
		"wait": func(ctx context.Context) error {
			_, err := s.Acquire(ctx, lockrt.Request{Key: "held", ID: rand.Text(), TTL: long, Wait: lockrt.Forever})
			return err
		},
		"renew": func(ctx context.Context) error {
			return s.Renew(ctx, []lockrt.Renewal{{Key: "held", ID: "1", TTL: long}})[0]
		},
		"list":    func(ctx context.Context) error { _, err := s.List(ctx, ""); return err },
		"inspect": func(ctx context.Context) error { _, err := s.(lockrt.Inspector).Inspect(ctx, "held"); return err },
		"check": func(ctx context.Context) error {
			return s.(lockrt.Checker).Check(ctx, []lockrt.HeldLease{{Key: "held", ID: "1"}})[0]
		},
	} {
		for _, bound := range []time.Duration{100 * time.Millisecond, time.Hour} {
			calls.Go(func() { silentCall(t, name, bound, call) })
		}
	}
	calls.Wait()
	p.Resume()
	testsync.Eventually(t, "nothing came of it", func() bool {
		owner, _ := near.row(t, "k")
		_, queue := near.row(t, "held")
		return owner == "" && queue == ""
	})
}

func silentCall(t *testing.T, name string, bound time.Duration, call func(context.Context) error) {
	ctx, cancel := context.WithTimeout(t.Context(), bound)
	defer cancel()
	began := time.Now()
	err := call(ctx)
	took := time.Since(began)
	if err == nil || errors.Is(err, lockrt.ErrBusy) || errors.Is(err, lockrt.ErrLost) {
		t.Errorf("%s within %s: %v", name, bound, err)
	}
	if isCtx := errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled); isCtx != (bound < time.Second) {
		t.Errorf("%s within %s: %v", name, bound, err)
	}
	if took > testsync.Patience { // with the time that a busy machine needs
		t.Errorf("%s within %s took %s", name, bound, took)
	}
}

// The work of a holder that is cut off ends before another gets the lock.
func silentHolder(t *testing.T, far, near *engine, p *testenv.Proxy) {
	a, b := far.locker(t, "a"), near.locker(t, "b")
	lease, err := a.Acquire(t.Context(), "k", lockrt.Options{TTL: 2 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	p.Silence()
	defer p.Resume()
	next, err := b.Acquire(t.Context(), "k", lockrt.Options{TTL: long, Wait: testsync.Patience})
	if err != nil {
		t.Fatal(err)
	}
	if lease.Err() == nil {
		t.Error("taken while the holder believes in its lease")
	}
	if next.Fence() <= lease.Fence() {
		t.Errorf("fence %d after %d", next.Fence(), lease.Fence())
	}
}

func silentClose(t *testing.T, far, near *engine, p *testenv.Proxy) {
	s, _ := far.session(t, "a")
	take(t, s, "k", "1", long)
	p.Silence()
	defer p.Resume()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	began := time.Now()
	err := s.Close(ctx)
	if took := time.Since(began); took > testsync.Patience || err != nil && !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("close took %s: %v", took, err)
	}
}

func cutWaiter(t *testing.T, far, near *engine, p *testenv.Proxy) {
	a, _ := near.session(t, "a")
	b, _ := far.session(t, "b")
	take(t, a, "k", "1", long)
	next := near.waiting(t, b, "k", "2")
	for range 3 {
		p.Cut()
		time.Sleep(50 * time.Millisecond)
	}
	if err := a.Release(t.Context(), lockrt.Release{Key: "k", ID: "1"}); err != nil {
		t.Fatal(err)
	}
	if o := end(t, next); o.err != nil {
		t.Error(o.err)
	}
}

func cutRelease(t *testing.T, far, near *engine, p *testenv.Proxy) {
	s, _ := far.session(t, "a")
	for i := range 5 {
		take(t, s, "k", string(rune('a'+i)), long)
		p.Silence()
		time.AfterFunc(20*time.Millisecond, func() {
			p.Cut() // the request may be with the server, and the answer is not here
			p.Resume()
		})
		if err := s.Release(t.Context(), lockrt.Release{Key: "k", ID: string(rune('a' + i))}); err != nil {
			t.Errorf("release number %d: %v", i, err)
		}
		if owner, _ := near.row(t, "k"); owner != "" {
			t.Errorf("after release number %d %q owns the lock", i, owner)
		}
	}
}
