package intx

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/memstore"
)

// silent is a kind of transaction whose line falls silent.
func silent(line chan struct{}, commit, rollback bool) Kind[int] {
	wait := func(falls bool) error {
		if falls {
			<-line
			return errors.New("broken pipe")
		}
		return nil
	}
	return Kind[int]{
		Begin: func(context.Context) (int, error) { return 1, nil },
		Guard: func(ctx context.Context, _ int, _ lockrt.Leases) (context.Context, func() error, error) {
			return ctx, nil, nil
		},
		Commit:   func(context.Context, int) error { return wait(commit) },
		Rollback: func(context.Context, int) error { return wait(rollback) },
		Ended:    func(error) bool { return false },
		Answered: func(error) bool { return false },
	}
}

// Drivers wait for an answer for as long as the connection seems to stand. The lock must not be renewed for so long.
func TestDo_silentLine(t *testing.T) {
	failed := errors.New("fn failed")
	for name, c := range map[string]struct {
		commit, rollback bool
		fn, want         error
		most             time.Duration // after the end of the context
	}{
		"commit":   {commit: true, want: ErrUnsure, most: commitTime},
		"rollback": {rollback: true, fn: failed, want: failed, most: RollbackTime},
		"none":     {},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				locks, err := lockrt.New(memstore.New(), lockrt.Config{})
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = locks.Close(context.Background()) }()
				line := make(chan struct{})
				defer close(line)
				ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
				defer cancel()
				start := time.Now()
				err = Do(ctx, locks, []string{"k"}, lockrt.Options{TTL: time.Second}, silent(line, c.commit, c.rollback),
					func(context.Context, int, lockrt.Leases) error { return c.fn })
				if !errors.Is(err, c.want) || c.want == nil && err != nil {
					t.Errorf("it ended with %v, want %v", err, c.want)
				}
				if took := time.Since(start); took > 2*time.Second+c.most {
					t.Errorf("it took %s", took)
				}
				if lease, err := locks.TryAcquire(t.Context(), "k", lockrt.Options{TTL: time.Second}); err != nil {
					t.Errorf("the lock is not free: %v", err)
				} else {
					_ = lease.Release(t.Context())
				}
			})
		})
	}
}

// A driver that panics does so in its caller, under whose eyes the lock is released.
func TestDo_commitPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		locks, err := lockrt.New(memstore.New(), lockrt.Config{})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = locks.Close(context.Background()) }()
		kind := silent(nil, false, false)
		kind.Commit = func(context.Context, int) error { panic("driver") }
		defer func() {
			if p := recover(); p != "driver" {
				t.Errorf("it panicked with %v", p)
			}
			if _, err := locks.Holder(context.Background(), "k"); !errors.Is(err, lockrt.ErrNotHeld) {
				t.Errorf("the lock is not free: %v", err)
			}
		}()
		_ = Do(t.Context(), locks, []string{"k"}, lockrt.Options{TTL: time.Second}, kind,
			func(context.Context, int, lockrt.Leases) error { return nil })
	})
}

// A lease is passed on inside the process once the transaction is known to be over, and not before.
func TestDo_passesOn(t *testing.T) {
	failed := errors.New("fn failed")
	for name, c := range map[string]struct {
		silent     bool // whatever ends the transaction
		fn         error
		refused    bool
		wantPassed bool
	}{
		"committed":               {wantPassed: true},
		"rolled back":             {fn: failed, wantPassed: true},
		"commit refused":          {refused: true, wantPassed: true},
		"commit without answer":   {silent: true},
		"rollback without answer": {silent: true, fn: failed},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				locks, err := lockrt.New(memstore.New(), lockrt.Config{LocalHandoffTime: time.Hour})
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = locks.Close(context.Background()) }()
				line := make(chan struct{})
				defer close(line)
				kind := silent(line, c.silent, c.silent)
				if c.refused {
					kind.Commit = func(context.Context, int) error { return errors.New("refused") }
					kind.Answered = func(error) bool { return true }
				}
				ctx, cancel := context.WithTimeout(context.Background(), time.Second)
				defer cancel()
				o := lockrt.Options{TTL: time.Minute, Wait: lockrt.Forever}
				next := make(chan *lockrt.Lease, 1)
				var epoch uint64
				_ = Do(ctx, locks, []string{"k"}, o, kind, func(_ context.Context, _ int, leases lockrt.Leases) error {
					epoch = leases[0].Fence().Epoch()
					go func() {
						lease, err := locks.Acquire(context.Background(), "k", o)
						if err != nil {
							t.Error(err)
						}
						next <- lease
					}()
					synctest.Wait()
					return c.fn
				})
				lease := <-next
				if passed := lease.Fence().Epoch() == epoch; passed != c.wantPassed {
					t.Errorf("passed on: %t, want %t", passed, c.wantPassed)
				}
				if err := lease.Release(context.Background()); err != nil {
					t.Error(err)
				}
			})
		})
	}
}
