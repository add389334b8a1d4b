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
