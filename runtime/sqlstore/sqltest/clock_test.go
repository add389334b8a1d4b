package sqltest

import (
	"database/sql"
	"errors"
	"net/url"
	"path"
	"testing"
	"time"

	"github.com/lockgen/lockgen/internal/testclock"
	"github.com/lockgen/lockgen/internal/testlocks"
	"github.com/lockgen/lockgen/internal/testsync"
	lockrt "github.com/lockgen/lockgen/runtime"
)

// clocked runs a test on servers whose clocks it sets.
func clocked(t *testing.T, test func(*testing.T, *engine, *testclock.Clock)) {
	t.Parallel()
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		e := postgres(t)
		u, err := url.Parse(e.url)
		if err != nil {
			t.Fatal(err)
		}
		clock := testclock.Postgres(t, e.db, path.Base(u.Path))
		e.db = openDB(t, "pgx", e.url) // connections with that clock
		test(t, e, clock)
	})
	t.Run("mariadb", func(t *testing.T) {
		t.Parallel()
		e := mariaDB(t)
		to, clock := testclock.MySQL(e.db.Driver(), mysqlDSN(e.url))
		e.db = sql.OpenDB(to)
		t.Cleanup(func() { _ = e.db.Close() })
		test(t, e, clock)
	})
}

// The clock of the server is set back by an hour while a lock is held and waited for, and set right again when it is
// free: fences grow, whoever holds the lock keeps it, and who waits for it is given it.
func TestStore_clockSetBack(t *testing.T) {
	clocked(t, func(t *testing.T, e *engine, clock *testclock.Clock) {
		a, b := e.locker(t, "a"), e.locker(t, "b")
		last := lockrt.Fence(0)
		grows := func(what string, lease *lockrt.Lease) {
			t.Helper()
			if lease.Fence() <= last {
				t.Errorf("%s: fence %d after %d", what, lease.Fence(), last)
			}
			last = lease.Fence()
		}
		const ttl = 3 * time.Second
		held := testlocks.Acquire(t, a, "k", lockrt.Options{TTL: ttl})
		grows("before", held)
		waiter := testlocks.WaitsAs(t, b, "k", lockrt.Options{TTL: ttl, Wait: lockrt.Forever})
		clock.SetBack(t, time.Hour)
		before := held.Deadline()
		testsync.Eventually(t, "the lease is renewed beyond its TTL", func() bool {
			return held.Deadline().After(before.Add(ttl)) || held.Err() != nil
		})
		if err := held.Check(t.Context()); err != nil {
			t.Errorf("the lease that was held: %v", err)
		}
		if _, err := b.TryAcquire(t.Context(), "k", lockrt.Options{TTL: ttl}); !errors.Is(err, lockrt.ErrBusy) {
			t.Errorf("somebody else acquires what is held: %v", err)
		}
		testlocks.Release(t, held)
		next := <-waiter
		grows("the waiter", next)
		testlocks.Release(t, next)
		for _, back := range []time.Duration{time.Hour, 2 * time.Hour, 0} {
			clock.SetBack(t, back)
			// Without a wait: a request must not refuse itself because of what the clock showed before.
			fresh := testlocks.Acquire(t, b, "new "+back.String(), lockrt.Options{TTL: ttl})
			for _, locks := range []*lockrt.Locker{a, b} {
				lease := testlocks.Acquire(t, locks, "k", lockrt.Options{TTL: ttl})
				grows("set back by "+back.String(), lease)
				testlocks.Release(t, lease)
			}
			testlocks.Release(t, fresh)
		}
	})
}

// The clock is set back between a waiter's question and the poll that tells of its grant: the waiter hears of that all the
// same. Else the lock would be nobody's until the lease that was given to it has run out.
func TestStore_clockSetBack_grantOfAWaiter(t *testing.T) {
	clocked(t, func(t *testing.T, e *engine, clock *testclock.Clock) {
		a, b := e.locker(t, "a"), e.locker(t, "b")
		o := lockrt.Options{TTL: time.Hour, Wait: lockrt.Forever}
		held := testlocks.Acquire(t, a, "k", o)
		waiter := testlocks.WaitsAs(t, b, "k", o)
		clock.SetBack(t, 2*time.Hour)
		testlocks.Release(t, held)
		testsync.Eventually(t, "the waiter has the lock", func() bool { return len(waiter) > 0 })
		testlocks.Release(t, <-waiter)
	})
}

// The clock is set forward by an hour while a lock is held and waited for by two processes, and back while the next one
// holds it: the holder hears that its lease is over, and each of the others gets the lock.
func TestStore_clockSetForward(t *testing.T) {
	clocked(t, func(t *testing.T, e *engine, clock *testclock.Clock) {
		a, b, c := e.locker(t, "a"), e.locker(t, "b"), e.locker(t, "c")
		o := lockrt.Options{TTL: 3 * time.Second, Wait: lockrt.Forever}
		held := testlocks.Acquire(t, a, "k", o)
		waiters := []<-chan *lockrt.Lease{testlocks.WaitsAs(t, b, "k", o), testlocks.WaitsAs(t, c, "k", o)}
		clock.SetBack(t, -time.Hour)
		<-held.Done()
		last := held.Fence()
		for range waiters {
			var next *lockrt.Lease
			select {
			case next = <-waiters[0]:
			case next = <-waiters[1]:
			}
			if next.Fence() <= last {
				t.Errorf("fence %d after %d", next.Fence(), last)
			}
			last = next.Fence()
			clock.SetBack(t, 0)
			if err := next.Check(t.Context()); err != nil {
				t.Errorf("the lease of the next: %v", err)
			}
			testlocks.Release(t, next)
		}
	})
}

// What ends by the server's clock ends later when that is set back, never sooner, and it does end: the lease of one who
// does not renew, and the time for which MinHold keeps a lock.
func TestStore_clockSetBack_whatEndsByIt(t *testing.T) {
	clocked(t, func(t *testing.T, e *engine, clock *testclock.Clock) {
		a, b := e.locker(t, "a"), e.locker(t, "b")
		const lasts, back = 2 * time.Second, 3 * time.Second
		for name, hold := range map[string]func(key string){
			"lease": func(key string) { testlocks.Acquire(t, a, key, lockrt.Options{TTL: lasts, NoRenew: true}) },
			"MinHold": func(key string) {
				testlocks.Release(t, testlocks.Acquire(t, a, key, lockrt.Options{TTL: lasts, MinHold: lasts}))
			},
		} {
			clock.SetBack(t, 0)
			began := time.Now()
			hold(name)
			clock.SetBack(t, back)
			next := testlocks.Acquire(t, b, name, lockrt.Options{TTL: long, Wait: lockrt.Forever})
			if took := time.Since(began); took < lasts {
				t.Errorf("%s: somebody else has the lock after %s, want %s or more", name, took, lasts)
			} else {
				t.Logf("%s: %s, with the clock set back by %s", name, took, back)
			}
			testlocks.Release(t, next)
		}
	})
}
