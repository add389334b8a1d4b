package sqltest

import (
	"context"
	"database/sql"
	"errors"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lockgen/lockgen/internal/testsync"
	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/sqlstore"
)

func TestGuard(t *testing.T) {
	t.Parallel()
	e := postgres(t)
	e.exec(t, "CREATE TABLE data (n int)")
	for name, test := range map[string]func(*testing.T, *engine){
		"a lease runs out":                   guardedPastTheLease,
		"waiters come meanwhile":             guardedOrder,
		"a release comes too early":          guardedRelease,
		"a release in vain":                  guardedReleaseInVain,
		"MinHold comes too early":            guardedMinHold,
		"MaxHold is over meanwhile":          guardedMaxHold,
		"a release at the end of MaxHold":    guardedMaxHoldRelease,
		"a close":                            guardedClose,
		"a break":                            guardedBreak,
		"a break by force":                   guardedForce,
		"a break by force in vain":           guardedForceInVain,
		"renewals":                           guardedRenewal,
		"a stale lease":                      guardStale,
		"a stale caller of the same process": guardPassedOn,
		"a release beside local waiters":     guardedLocalRelease,
		"a client that has stopped":          guardStopped,
		"another kind of store":              guardElsewhere,
		"a transaction elsewhere":            guardTxElsewhere,
		"readers beside each other":          guardedReaders,
		"readers past their leases":          guardedReadersPastTheirLeases,
		"a downgrade comes too early":        guardedDowngrade,
		"a permit":                           guardPermit,
		"no transaction":                     guardNoTx,
		"a client that takes no more":        guardStoppedReading,
	} {
		t.Run(name, func(t *testing.T) { test(t, e) })
	}
}

func (e *engine) begin(t *testing.T, level sql.IsolationLevel) *sql.Tx {
	t.Helper()
	tx, err := e.db.BeginTx(context.WithoutCancel(t.Context()), &sql.TxOptions{Isolation: level})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tx.Rollback() })
	return tx
}

// guarded returns a lease and a transaction with its guard, of the engine's isolation level.
func (e *engine) guarded(t *testing.T, l *lockrt.Locker, o lockrt.Options) (*lockrt.Lease, *sql.Tx) {
	t.Helper()
	var lease *lockrt.Lease
	var tx *sql.Tx
	o.Wait = testsync.Patience
	testsync.Eventually(t, "the guard comes before the end of the lease", func() bool {
		var err error
		if lease, err = l.Acquire(t.Context(), "k", o); err != nil {
			t.Fatal(err)
		}
		tx = e.begin(t, e.level)
		if err := sqlstore.Guard(t.Context(), tx, lease); err == nil {
			return true
		} else if !errors.Is(err, lockrt.ErrLost) {
			t.Fatal(err)
		}
		_ = tx.Rollback()
		return false
	})
	return lease, tx
}

// writes has a transaction write at once, before whatever keeps its holder, and returns its end.
func writes(t *testing.T, tx *sql.Tx) (commit func() error) {
	t.Helper()
	if _, err := tx.Exec("INSERT INTO data VALUES (1)"); err != nil {
		t.Fatal(err)
	}
	return tx.Commit
}

// nobodyUntilCommit checks that a waiter gets the lock after the commit and not before, and returns its fence.
func (e *engine) nobodyUntilCommit(t *testing.T, commit func() error, meanwhile func()) (next lockrt.Fence) {
	t.Helper()
	b := e.locker(t, "b")
	var lease *lockrt.Lease
	done := make(chan error, 1)
	go func() {
		var err error
		lease, err = b.Acquire(context.WithoutCancel(t.Context()), "k", lockrt.Options{TTL: long, Wait: lockrt.Forever})
		done <- err
	}()
	meanwhile()
	select {
	case err := <-done:
		t.Fatalf("somebody else has the lock before the commit (%v)", err)
	case <-time.After(700 * time.Millisecond):
	}
	if _, err := b.TryAcquire(t.Context(), "k", lockrt.Options{TTL: long}); !errors.Is(err, lockrt.ErrBusy) {
		t.Errorf("a try meanwhile: %v, want ErrBusy", err)
	}
	if err := commit(); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-done:
		if err != nil {
			t.Fatal(err)
		}
		return lease.Fence()
	case <-time.After(testsync.Patience):
		t.Fatal("nobody gets the lock after the commit")
		panic("unreachable")
	}
}

func guardedPastTheLease(t *testing.T, e *engine) {
	lease, tx := e.guarded(t, e.locker(t, "a"), lockrt.Options{TTL: 500 * time.Millisecond, NoRenew: true})
	e.nobodyUntilCommit(t, writes(t, tx), func() { <-lease.Done() })
}

// Those who come while the lease is over and the transaction open get the lock in their order.
func guardedOrder(t *testing.T, e *engine) {
	lease, tx := e.guarded(t, e.locker(t, "a"), lockrt.Options{TTL: 500 * time.Millisecond, NoRenew: true})
	<-lease.Done()
	b, _ := e.session(t, "b")
	c, _ := e.session(t, "c")
	testsync.Eventually(t, "the lease is over for all", func() bool {
		_, err := b.(lockrt.Inspector).Inspect(t.Context(), "k")
		return errors.Is(err, lockrt.ErrNotHeld)
	})
	first := e.waiting(t, b, "k", "first")
	second := e.waiting(t, c, "k", "second")
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	one := end(t, first)
	if one.err != nil {
		t.Fatal(one.err)
	}
	if err := b.Release(t.Context(), lockrt.Release{Key: "k", ID: "first"}); err != nil {
		t.Fatal(err)
	}
	if two := end(t, second); two.err != nil || two.grant.Epoch <= one.grant.Epoch {
		t.Errorf("the second has epoch %d after %d, %v", two.grant.Epoch, one.grant.Epoch, two.err)
	}
}

func guardedRelease(t *testing.T, e *engine) {
	lease, tx := e.guarded(t, e.locker(t, "a"), lockrt.Options{TTL: long})
	released := make(chan error, 1)
	e.nobodyUntilCommit(t, writes(t, tx), func() { go func() { released <- lease.Release(t.Context()) }() })
	if err := <-released; err != nil {
		t.Error(err)
	}
}

// A release that waits for a transaction in vain says whose it is. It goes on in the background.
func guardedReleaseInVain(t *testing.T, e *engine) {
	lease, tx := e.guarded(t, e.locker(t, "a"), lockrt.Options{TTL: long})
	var pid string
	if err := tx.QueryRow("SELECT pg_backend_pid()").Scan(&pid); err != nil {
		t.Fatal(err)
	}
	wants(t, lease.Release(t.Context()), " "+pid+" ", "pg_stat_activity")
	_ = tx.Rollback() // the server may have ended it
	testsync.Eventually(t, "the lock is free", func() bool {
		owner, _ := e.row(t, "k")
		return owner == ""
	})
}

func guardedMinHold(t *testing.T, e *engine) {
	lease, tx := e.guarded(t, e.locker(t, "a"), lockrt.Options{TTL: long, MinHold: 100 * time.Millisecond})
	released := make(chan error, 1)
	e.nobodyUntilCommit(t, writes(t, tx), func() { go func() { released <- lease.Release(t.Context()) }() })
	if err := <-released; err != nil {
		t.Error(err)
	}
}

// The end of MaxHold is one of the lease and not of the guard, also when what the lease had left has run out.
func guardedMaxHold(t *testing.T, e *engine) {
	lease, tx := e.guarded(t, e.locker(t, "a"), lockrt.Options{TTL: 1500 * time.Millisecond, MaxHold: 2 * time.Second})
	next := e.nobodyUntilCommit(t, writes(t, tx), func() {
		<-lease.Done()
		if err := lease.Err(); !strings.Contains(err.Error(), "without a renewal") { // where the machine stood still for a second
			wants(t, err, "MaxHold")
		}
		e.isOver(t)
	})
	if next <= lease.Fence() {
		t.Errorf("the next fence is %d after %d", next, lease.Fence())
	}
}

// The holder gives its lease back at the end of MaxHold: that waits for the transaction.
func guardedMaxHoldRelease(t *testing.T, e *engine) {
	lease, tx := e.guarded(t, e.locker(t, "a"), lockrt.Options{TTL: long, MaxHold: time.Second})
	released := make(chan error, 1)
	e.nobodyUntilCommit(t, writes(t, tx), func() {
		<-lease.Done()
		go func() { released <- lease.Release(context.WithoutCancel(t.Context())) }()
	})
	wants(t, <-released, "MaxHold")
}

// isOver waits until the lease has run out for all.
func (e *engine) isOver(t *testing.T) {
	t.Helper()
	s, _ := e.session(t, "watcher")
	testsync.Eventually(t, "the lease is over for all", func() bool {
		_, err := s.(lockrt.Inspector).Inspect(context.WithoutCancel(t.Context()), "k")
		return errors.Is(err, lockrt.ErrNotHeld)
	})
}

func guardedClose(t *testing.T, e *engine) {
	a := e.locker(t, "a")
	_, tx := e.guarded(t, a, lockrt.Options{TTL: long})
	closed := make(chan error, 1)
	e.nobodyUntilCommit(t, writes(t, tx), func() { go func() { closed <- a.Close(context.WithoutCancel(t.Context())) }() })
	if err := <-closed; err != nil {
		t.Error(err)
	}
}

func guardedBreak(t *testing.T, e *engine) {
	lease, tx := e.guarded(t, e.locker(t, "a"), lockrt.Options{TTL: long})
	e.nobodyUntilCommit(t, writes(t, tx), func() {
		if err := e.locker(t, "c").Break(t.Context(), "k", "test"); err != nil {
			t.Error(err)
		}
		<-lease.Done()
	})
}

func guardedForce(t *testing.T, e *engine) {
	lease, tx := e.guarded(t, e.locker(t, "a"), lockrt.Options{TTL: long})
	s, _ := e.session(t, "c")
	broken := make(chan error, 1)
	b := lockrt.Breaking{Key: "k", Fence: lease.Fence(), Reason: "test", Force: true}
	info, err := s.(lockrt.Inspector).Inspect(t.Context(), "k")
	if err != nil {
		t.Fatal(err)
	}
	b.ID = info.ID
	e.nobodyUntilCommit(t, writes(t, tx), func() { go func() { broken <- s.(lockrt.Breaker).Break(t.Context(), b) }() })
	if err := <-broken; err != nil {
		t.Error(err)
	}
}

// A Break that cannot hand the lock on says who is in the way.
func guardedForceInVain(t *testing.T, e *engine) {
	lease, tx := e.guarded(t, e.locker(t, "a"), lockrt.Options{TTL: long})
	var pid string
	if err := tx.QueryRow("SELECT pg_backend_pid()::text").Scan(&pid); err != nil {
		t.Fatal(err)
	}
	s, _ := e.session(t, "c")
	info, err := s.(lockrt.Inspector).Inspect(t.Context(), "k")
	if err != nil {
		t.Fatal(err)
	}
	b := lockrt.Breaking{Key: "k", ID: info.ID, Fence: info.Fence, Reason: "test", Force: true}
	err = s.(lockrt.Breaker).Break(t.Context(), b)
	if err == nil || !strings.Contains(err.Error(), pid) {
		t.Errorf("the error does not name the process %s: %v", pid, err)
	}
	if err := errors.Join(tx.Commit(), lease.Err()); err != nil {
		t.Error(err)
	}
}

func guardedRenewal(t *testing.T, e *engine) {
	lease, tx := e.guarded(t, e.locker(t, "a"), lockrt.Options{TTL: 2 * time.Second})
	first := lease.Deadline()
	testsync.Eventually(t, "the lease is renewed", func() bool { return lease.Deadline().After(first.Add(2*time.Second)) || lease.Err() != nil })
	if err := errors.Join(lease.Err(), tx.Commit(), lease.Release(t.Context())); err != nil {
		t.Error(err)
	}
}

func guardStale(t *testing.T, e *engine) {
	a, b := e.locker(t, "a"), e.locker(t, "b")
	lease, err := a.Acquire(t.Context(), "k", lockrt.Options{TTL: time.Second, NoRenew: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Acquire(t.Context(), "k", lockrt.Options{TTL: long, Wait: testsync.Patience}); err != nil {
		t.Fatal(err)
	}
	if err := sqlstore.Guard(t.Context(), e.begin(t, e.level), lease); !errors.Is(err, lockrt.ErrLost) {
		t.Errorf("the guard of a lease that is over: %v, want ErrLost", err)
	}
}

// The row stays the same when a lease is passed on inside a process.
func guardPassedOn(t *testing.T, e *engine) {
	l := e.locker(t, "a")
	one, err := l.Acquire(t.Context(), "k", lockrt.Options{TTL: long})
	if err != nil {
		t.Fatal(err)
	}
	next := make(chan *lockrt.Lease, 1)
	go func() {
		two, err := l.Acquire(context.WithoutCancel(t.Context()), "k", lockrt.Options{TTL: long, Wait: lockrt.Forever})
		if err != nil {
			t.Error(err)
		}
		next <- two
	}()
	if err := one.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	two := <-next
	if err := sqlstore.Guard(t.Context(), e.begin(t, sql.LevelDefault), one); !errors.Is(err, lockrt.ErrNotHeld) {
		t.Errorf("the guard of the lease before: %v, want ErrNotHeld", err)
	}
	if err := sqlstore.Guard(t.Context(), e.begin(t, sql.LevelDefault), two); err != nil {
		t.Errorf("the guard of the lease: %v", err)
	}
}

// The row would keep nobody out of a lease that is passed on inside the process.
func guardedLocalRelease(t *testing.T, e *engine) {
	l := e.lockerOf(t, lockrt.Config{LocalHandoffTime: time.Hour})
	lease, tx := e.guarded(t, l, lockrt.Options{TTL: long})
	var committed atomic.Bool
	next := make(chan error, 1)
	go func() {
		two, err := l.Acquire(context.WithoutCancel(t.Context()), "k", lockrt.Options{TTL: long, Wait: lockrt.Forever})
		if err == nil && !committed.Load() {
			err = errors.New("the next caller of the process has the lock before the commit")
		}
		next <- errors.Join(err, two.Release(context.WithoutCancel(t.Context())))
	}()
	time.Sleep(100 * time.Millisecond) // it waits behind the lease; otherwise nothing is shown
	released := make(chan error, 1)
	go func() { released <- lease.Release(context.WithoutCancel(t.Context())) }()
	select {
	case err := <-released:
		t.Errorf("the release does not wait for the transaction (%v)", err)
		released <- nil
	case <-time.After(300 * time.Millisecond):
	}
	committed.Store(true)
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(<-released, <-next); err != nil {
		t.Error(err)
	}
}

func guardStopped(t *testing.T, e *engine) {
	_, tx := e.guarded(t, e.locker(t, "a"), lockrt.Options{TTL: time.Second, NoRenew: true})
	// Nothing more is heard of the client.
	if _, err := e.locker(t, "b").Acquire(t.Context(), "k", lockrt.Options{TTL: long, Wait: testsync.Patience}); err != nil {
		t.Error(err)
	}
	if err := tx.Commit(); err == nil {
		t.Error("the transaction of a client that had stopped is committed")
	}
}

// The client stops while it reads a result: its connection stays, and the server is not idle.
func guardStoppedReading(t *testing.T, e *engine) {
	db, line := e.through(t)
	lease, err := e.locker(t, "a").Acquire(t.Context(), "k", lockrt.Options{TTL: time.Second, NoRenew: true})
	if err != nil {
		t.Fatal(err)
	}
	tx, err := db.BeginTx(context.WithoutCancel(t.Context()), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	if err := sqlstore.Guard(t.Context(), tx, lease); err != nil {
		t.Fatal(err)
	}
	rows, err := tx.Query("SELECT repeat('x', 1000) FROM generate_series(1, 3000000)")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	line.Silence()
	defer line.Cut()
	if _, err := e.locker(t, "b").Acquire(t.Context(), "k", lockrt.Options{TTL: long, Wait: testsync.Patience}); err != nil {
		t.Error(err)
	}
}

// A connection is a transaction only behind its BEGIN.
func guardNoTx(t *testing.T, e *engine) {
	lease, err := e.locker(t, "a").Acquire(t.Context(), "k", lockrt.Options{TTL: long})
	if err != nil {
		t.Fatal(err)
	}
	conn, err := e.db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for name, tx := range map[string]sqlstore.Tx{"a pool": e.db, "a connection": conn, "nil": nil, "no *sql.Tx": (*sql.Tx)(nil)} {
		if err := sqlstore.Guard(t.Context(), tx, lease); !errors.Is(err, lockrt.ErrOptions) {
			t.Errorf("the guard of %s: %v, want ErrOptions", name, err)
		}
	}
	for _, query := range []string{"BEGIN", "COMMIT"} {
		if _, err := conn.ExecContext(t.Context(), query); err != nil {
			t.Fatal(err)
		}
		if query == "BEGIN" {
			if err := sqlstore.Guard(t.Context(), conn, lease); err != nil {
				t.Errorf("the guard of a connection behind BEGIN: %v", err)
			}
		}
	}
}

func guardElsewhere(t *testing.T, e *engine) {
	if err := sqlstore.Guard(t.Context(), e.begin(t, sql.LevelDefault), nil); err == nil {
		t.Error("the guard of no lease passes")
	}
	lite := &engine{name: "sqlite", db: openSQLite(t, "sqlite:"+t.TempDir()+"/l.db")}
	lease, err := lite.locker(t, "a").Acquire(t.Context(), "k", lockrt.Options{TTL: long})
	if err != nil {
		t.Fatal(err)
	}
	tx := lite.begin(t, sql.LevelDefault)
	if err := sqlstore.Guard(t.Context(), tx, lease); !errors.Is(err, sqlstore.ErrUnsupported) {
		t.Errorf("the guard on SQLite: %v, want ErrUnsupported", err)
	}
	pg, err := e.locker(t, "a").Acquire(t.Context(), "k", lockrt.Options{TTL: long})
	if err != nil {
		t.Fatal(err)
	}
	if err := sqlstore.Guard(t.Context(), e.db, pg); !errors.Is(err, lockrt.ErrOptions) {
		t.Errorf("the guard without a transaction: %v, want ErrOptions", err)
	}
}

// The lock cannot guard a transaction of another database, whatever is there, not even of a copy with the lease's row.
func guardTxElsewhere(t *testing.T, e *engine) {
	locksAt, bare := e.another(t), e.another(t)
	name := regexp.MustCompile(`own\d+`).FindString(locksAt)
	home, err := sql.Open("pgx", locksAt)
	if err != nil {
		t.Fatal(err)
	}
	createTables(t, home, sqlstore.Config{})
	own := *e
	own.db = home
	locks, err := lockrt.New(sqlstore.New(home, sqlstore.Config{}), lockrt.Config{Namespace: t.Name()})
	if err != nil {
		t.Fatal(err)
	}
	lease, err := locks.Acquire(t.Context(), "k", lockrt.Options{TTL: time.Hour, NoRenew: true})
	if err != nil {
		t.Fatal(err)
	}
	other := &engine{name: "postgres", db: openDB(t, "pgx", bare)}
	pq := &engine{name: "postgres", db: openDB(t, "postgres", bare)}
	lite := &engine{name: "sqlite", db: openSQLite(t, "sqlite:"+t.TempDir()+"/l.db")}
	refused := func(what string, e *engine) {
		t.Helper()
		err := sqlstore.Guard(t.Context(), e.begin(t, sql.LevelDefault), lease)
		if !errors.Is(err, sqlstore.ErrUnsupported) || errors.Is(err, lockrt.ErrLost) {
			t.Errorf("%s: %v, want ErrUnsupported", what, err)
		}
	}
	refused("a database without tables", other)
	refused("a database without tables, by lib/pq", pq)
	refused("SQLite", lite)
	createTables(t, other.db, sqlstore.Config{})
	refused("a database with tables of its own", other)
	if err := sqlstore.Guard(t.Context(), own.begin(t, sql.LevelDefault), lease); err != nil {
		t.Errorf("in the database of the locks: %v", err)
	}
	testsync.Eventually(t, "the database is copied", func() bool { // which needs it for itself
		_, _ = e.db.Exec("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '" + name + "'")
		_, err := e.db.Exec("CREATE DATABASE " + name + "copy TEMPLATE " + name)
		return err == nil
	})
	refused("a copy", &engine{name: "postgres", db: openDB(t, "pgx", e.at(name+"copy"))})
	if err := errors.Join(lease.Release(t.Context()), locks.Close(t.Context())); err != nil {
		t.Error(err)
	}
	_ = home.Close()
}
