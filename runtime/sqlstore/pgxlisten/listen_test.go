package pgxlisten_test

import (
	"context"
	"database/sql"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/lockgen/lockgen/internal/testenv"
	"github.com/lockgen/lockgen/internal/testlocks"
	"github.com/lockgen/lockgen/internal/testsync"
	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/sqlstore"
	"github.com/lockgen/lockgen/runtime/sqlstore/pgxlisten"
)

// never is a Config with which nobody hears of anything but by a ring.
func never(l sqlstore.Listener) sqlstore.Config {
	return sqlstore.Config{Listener: l, PollMin: long, PollMax: long, Liveness: long}
}

// awaitListeners waits until so many connections listen.
func awaitListeners(t *testing.T, db *sql.DB, n int) {
	t.Helper()
	testsync.Eventually(t, "the listeners are up", func() bool {
		var up int
		err := db.QueryRowContext(t.Context(), "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'LISTEN %' AND state = 'idle'").Scan(&up)
		if err != nil {
			t.Fatal(err)
		}
		return up >= n
	})
}

// handOver has b wait for what a holds, calls give, and waits until b has it.
func handOver(t *testing.T, a, b *lockrt.Locker, give func(*lockrt.Lease) error) {
	t.Helper()
	o := lockrt.Options{TTL: long, Wait: testsync.Patience}
	lease, err := a.Acquire(t.Context(), "k", o)
	if err != nil {
		t.Fatal(err)
	}
	next := make(chan error, 1)
	go func() {
		lease, err := b.Acquire(t.Context(), "k", lockrt.Options{TTL: long, Wait: testsync.Patience})
		if err == nil {
			err = lease.Release(context.WithoutCancel(t.Context()))
		}
		next <- err
	}()
	testsync.Eventually(t, "somebody waits", func() bool {
		info, err := a.Holder(t.Context(), "k")
		return err == nil && len(info.Waiters) > 0
	})
	if err := give(lease); err != nil {
		t.Error(err)
	}
	if err := <-next; err != nil {
		t.Errorf("nobody rang: %v", err)
	}
}

func release(t *testing.T) func(*lockrt.Lease) error {
	return func(lease *lockrt.Lease) error { return lease.Release(t.Context()) }
}

func TestListener_ringsTheNext(t *testing.T) {
	server, db := postgres(t)
	pool, err := pgxpool.New(t.Context(), server.URL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	quiet := slog.New(slog.DiscardHandler)
	// One that does not listen rings those who do.
	a := locker(t, sqlstore.New(db, sqlstore.Config{}), quiet)
	b := locker(t, sqlstore.New(db, never(pgxlisten.FromPool(pool))), quiet)
	awaitListeners(t, db, 1)
	for range 5 {
		handOver(t, a, b, release(t))
	}
	t.Run("a break", func(t *testing.T) {
		lease, err := b.Acquire(t.Context(), "k", lockrt.Options{TTL: long})
		if err != nil {
			t.Fatal(err)
		}
		if err := a.Break(t.Context(), "k", "test"); err != nil {
			t.Fatal(err)
		}
		select {
		case <-lease.Done():
		case <-time.After(testsync.Patience):
			t.Error("the holder does not hear of the break")
		}
	})
	t.Run("a connection that breaks", func(t *testing.T) {
		if _, err := db.Exec("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN %'"); err != nil {
			t.Fatal(err)
		}
		handOver(t, a, b, func(lease *lockrt.Lease) error {
			awaitListeners(t, db, 1)
			return lease.Release(t.Context())
		})
	})
}

// MinHold keeps a permit's slot for a short rest of a long lease: who waits for it hears when that will be over.
func TestListener_ringsForAKeptSlot(t *testing.T) {
	server, db := postgres(t)
	quiet := slog.New(slog.DiscardHandler)
	a := locker(t, sqlstore.New(db, sqlstore.Config{}), quiet)
	cfg := never(listener(t, server.URL()))
	cfg.PollMin = 0 // else it does not ask at the end of that time either
	b := locker(t, sqlstore.New(db, cfg), quiet)
	awaitListeners(t, db, 1)
	held := testlocks.Acquire(t, a, "k", lockrt.Options{TTL: long, MinHold: time.Second, Permits: 1})
	waiter := testlocks.WaitsAs(t, b, "k", lockrt.Options{TTL: long, Wait: testsync.Patience, Permits: 1})
	testlocks.Release(t, held)
	if next := <-waiter; next != nil {
		testlocks.Release(t, next)
	}
}

// A process that ends right after its release has rung.
func TestListener_releaseWaitsForTheRing(t *testing.T) {
	server, db := postgres(t)
	quiet := slog.New(slog.DiscardHandler)
	b := locker(t, sqlstore.New(db, never(listener(t, server.URL()))), quiet)
	awaitListeners(t, db, 1)
	for range 5 {
		own := openDB(t, server.URL())
		a := locker(t, sqlstore.New(own, sqlstore.Config{}), quiet)
		handOver(t, a, b, func(lease *lockrt.Lease) error {
			err := lease.Release(t.Context())
			_ = own.Close()
			return err
		})
	}
}

// A pooler in transaction mode takes LISTEN and delivers nothing: that is noticed, and the locks go on by polling.
func TestListener_behindAPooler(t *testing.T) {
	server, db := postgres(t)
	bouncer := testenv.PgBouncer(t, server)
	log := new(testsync.Log)
	l := listener(t, bouncer.URL()+"&default_query_exec_mode=exec")
	a := locker(t, sqlstore.New(db, sqlstore.Config{}), slog.New(slog.DiscardHandler))
	b := locker(t, sqlstore.New(db, sqlstore.Config{Listener: l}), log.Logger())
	handOver(t, a, b, release(t))
	testsync.Eventually(t, "the log says so", func() bool { return strings.Contains(log.String(), "pooler") })
	handOver(t, a, b, release(t))
}

// What is opened by URL listens once the package is imported.
func TestOpen_listens(t *testing.T) {
	server, db := postgres(t)
	l, err := lockrt.Open(t.Context(), server.URL(), lockrt.Config{})
	if err != nil {
		t.Fatal(err)
	}
	awaitListeners(t, db, 1)
	if err := l.Close(t.Context()); err != nil {
		t.Error(err)
	}
}
