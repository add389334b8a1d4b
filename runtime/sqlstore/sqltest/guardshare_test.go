package sqltest

import (
	"context"
	"database/sql"
	"errors"
	"testing"
	"time"

	"github.com/lockgen/lockgen/internal/testsync"
	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/fence"
	"github.com/lockgen/lockgen/runtime/sqlstore"
)

func reads(ttl time.Duration) lockrt.Options {
	return lockrt.Options{TTL: ttl, Mode: lockrt.Read, Wait: testsync.Patience}
}

// Each reader has its transaction open while the others come, renew and go. A writer waits for all of them.
func guardedReaders(t *testing.T, e *engine) {
	one, first := e.guarded(t, e.locker(t, "a"), reads(long))
	two, second := e.guarded(t, e.locker(t, "c"), reads(long))
	third, err := e.locker(t, "d").Acquire(t.Context(), "k", reads(long))
	if err != nil {
		t.Fatalf("a reader beside guarded transactions: %v", err)
	}
	for _, lease := range []*lockrt.Lease{one, two, third} {
		if err := lease.Extend(t.Context(), 2*long); err != nil {
			t.Errorf("renewal beside guarded transactions: %v", err)
		}
	}
	released := make(chan error, 1)
	commitFirst, commitSecond := writes(t, first), writes(t, second)
	commit := func() error {
		err := errors.Join(commitSecond(), <-released)
		if err == nil && two.Err() == nil {
			t.Error("a lease outlives its release")
		}
		return err
	}
	e.nobodyUntilCommit(t, commit, func() {
		// Nothing of this waits: others read under the lock.
		if err := errors.Join(third.Release(t.Context()), one.Release(t.Context())); err != nil {
			t.Error(err)
		}
		if err := commitFirst(); err != nil {
			t.Error(err)
		}
		go func() { released <- two.Release(context.WithoutCancel(t.Context())) }()
	})
}

func guardedReadersPastTheirLeases(t *testing.T, e *engine) {
	o := reads(500 * time.Millisecond)
	o.NoRenew = true
	lease, tx := e.guarded(t, e.locker(t, "a"), o)
	e.nobodyUntilCommit(t, writes(t, tx), func() { <-lease.Done() })
}

// What the writer wrote is committed before others read.
func guardedDowngrade(t *testing.T, e *engine) {
	lease, tx := e.guarded(t, e.locker(t, "a"), lockrt.Options{TTL: long})
	commit, done := writes(t, tx), make(chan error, 1)
	go func() { done <- lease.Downgrade(context.WithoutCancel(t.Context())) }()
	b := e.locker(t, "b")
	select {
	case err := <-done:
		t.Fatalf("the lease is a reader's before the commit (%v)", err)
	case <-time.After(300 * time.Millisecond):
	}
	if _, err := b.TryAcquire(t.Context(), "k", lockrt.Options{TTL: long, Mode: lockrt.Read}); !errors.Is(err, lockrt.ErrBusy) {
		t.Errorf("a reader before the commit: %v, want ErrBusy", err)
	}
	if err := errors.Join(commit(), <-done); err != nil {
		t.Fatal(err)
	}
	beside, err := b.Acquire(t.Context(), "k", reads(long))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(beside.Release(t.Context()), lease.Release(t.Context())); err != nil {
		t.Error(err)
	}
}

// A permit has a fence of its own, which DoTx uses by itself.
func guardPermit(t *testing.T, e *engine) {
	l := e.locker(t, "a")
	o := lockrt.Options{TTL: long, Permits: 2}
	lease, err := l.Acquire(t.Context(), "k", o)
	if err != nil {
		t.Fatal(err)
	}
	if err := sqlstore.Guard(t.Context(), e.begin(t, sql.LevelDefault), lease); !errors.Is(err, sqlstore.ErrUnsupported) {
		t.Errorf("the guard of a permit: %v, want ErrUnsupported", err)
	}
	if err := fence.CreateTable(t.Context(), e.db, fence.Postgres); err != nil {
		t.Fatal(err)
	}
	beside := e.locker(t, "b")
	if err := sqlstore.DoTx(t.Context(), beside, "k", o, e.db, insert); err != nil {
		t.Errorf("a transaction under the other permit: %v", err)
	}
	var slot string
	if err := e.db.QueryRow("SELECT resource FROM lockgen_fence").Scan(&slot); err != nil || slot != "k#1" {
		t.Errorf("the fence is that of %q, %v, want slot 1", slot, err)
	}
	if err := lease.Release(t.Context()); err != nil {
		t.Error(err)
	}
}
