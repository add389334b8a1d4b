package lifeline

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/lockgen/lockgen/examples/internal/witness"
	"github.com/lockgen/lockgen/jobs"
	jobmem "github.com/lockgen/lockgen/jobs/memstore"
	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/memstore"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A node that is cut off holds its locks until its lease is over, whatever it does, and
// then no longer.
func TestLine_Cut_leasesRunOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, line := memstore.New(), New()
		dead, err := lockrt.New(line.Locks(store), lockrt.Config{Node: "dead"})
		if err != nil {
			t.Fatal(err)
		}
		other, err := lockrt.New(store, lockrt.Config{Node: "other"})
		if err != nil {
			t.Fatal(err)
		}
		const ttl = 10 * time.Second
		lease, err := dead.Acquire(t.Context(), "k", lockrt.Options{TTL: ttl})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute) // it is renewed
		cut := time.Now()
		line.Cut()
		if err := lease.Release(t.Context()); err == nil {
			t.Error("a dead node released its lock")
		}
		_ = dead.Close(t.Context()) // must not free the lock either
		next, err := other.Acquire(t.Context(), "k", lockrt.Options{TTL: ttl, Wait: lockrt.Forever})
		if err != nil {
			t.Fatal(err)
		}
		if waited := time.Since(cut); waited < ttl/2 || waited > ttl {
			t.Errorf("the lock was free after %s, want what was left of %s", waited, ttl)
		}
		if err := next.Release(t.Context()); err != nil {
			t.Error(err)
		}
		if err := other.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// A dead waiter gets nothing, and keeps nobody.
func TestLine_Cut_endsWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, line := memstore.New(), New()
		session := open(t, line.Locks(store))
		holder := open(t, store)
		held := lockrt.Request{Key: "k", ID: "1", TTL: time.Minute}
		if _, err := holder.Acquire(t.Context(), held); err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 1)
		go func() {
			_, err := session.Acquire(t.Context(), lockrt.Request{Key: "k", ID: "2", TTL: time.Minute, Wait: time.Hour})
			done <- err
		}()
		synctest.Wait()
		line.Cut()
		if err := <-done; !errors.Is(err, ErrCut) {
			t.Errorf("%v", err)
		}
	})
}

func open(t *testing.T, store lockrt.Store) lockrt.Session {
	t.Helper()
	s, err := store.Open(lockrt.SessionConfig{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close(context.Background()) })
	return s
}

// Nothing that a dead node asks of the stores gets there.
func TestLine_Cut_everyCall(t *testing.T) {
	line, ctx := New(), t.Context()
	behind, session := line.Jobs(jobmem.New()), open(t, line.Locks(memstore.New()))
	run := jobs.Run{ID: "a@1", Job: "a"}
	calls := map[string]func() error{
		"acquire": func() error {
			_, err := session.Acquire(ctx, lockrt.Request{Key: "k", ID: "1", TTL: time.Minute})
			return err
		},
		"renew":    func() error { return session.Renew(ctx, []lockrt.Renewal{{Key: "k", ID: "1", TTL: time.Minute}})[0] },
		"release":  func() error { return session.Release(ctx, lockrt.Release{Key: "k", ID: "1"}) },
		"register": func() error { _, err := behind.Register(ctx, jobs.Registration{Session: "s"}); return err },
		"look":     func() error { _, err := behind.Look(ctx, []string{"a"}); return err },
		"cursors":  func() error { _, err := behind.Cursors(ctx, []string{"a"}); return err },
		"claim":    func() error { return behind.Claim(ctx, []jobs.Claim{{Job: "a"}})[0].Err },
		"start":    func() error { return behind.Start(ctx, []jobs.Start{{Run: run}})[0] },
		"finish":   func() error { return behind.Finish(ctx, []jobs.Finish{{Run: run}})[0] },
		"heartbeat": func() error {
			_, err := behind.Heartbeat(ctx, jobs.Heartbeat{Session: "s", Lease: time.Minute})
			return err
		},
		"leave":    func() error { return behind.Leave(ctx, "s") },
		"inflight": func() error { _, err := behind.InFlight(ctx); return err },
	}
	for name, call := range calls {
		if err := call(); errors.Is(err, ErrCut) {
			t.Errorf("%s: cut off while it lives", name)
		}
	}
	line.Cut()
	line.Cut()
	for name, call := range calls {
		if err := call(); !errors.Is(err, ErrCut) {
			t.Errorf("%s: %v, want to be cut off", name, err)
		}
	}
}

func TestLine_Cut_silences(t *testing.T) {
	line := New()
	var log witness.Memory
	var said bytes.Buffer
	notes := line.Notes(&log)
	logger := line.Logger(slog.New(slog.NewTextHandler(&said, nil))).With("node", "n").WithGroup("g")
	ctx, stop := line.Bind(t.Context())
	defer stop()
	if err := notes.Append(witness.Event{}); err != nil || ctx.Err() != nil {
		t.Errorf("%v, %v", err, ctx.Err())
	}
	logger.Info("alive")
	line.Cut()
	if err := notes.Append(witness.Event{}); !errors.Is(err, ErrCut) || len(log.Events()) != 1 {
		t.Errorf("%v, %d notes", err, len(log.Events()))
	}
	before := said.Len()
	logger.Error("dead")
	if before == 0 || said.Len() != before {
		t.Errorf("said: %s", &said)
	}
	<-ctx.Done()
	if !errors.Is(context.Cause(ctx), ErrCut) {
		t.Errorf("the context ended with %v", context.Cause(ctx))
	}
}
