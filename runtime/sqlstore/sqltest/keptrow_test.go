package sqltest

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lockgen/lockgen/internal/testenv"
	"github.com/lockgen/lockgen/internal/testlocks"
	"github.com/lockgen/lockgen/internal/testsync"
	lockrt "github.com/lockgen/lockgen/runtime"
)

// blocked is how many statements wait for rows of a database.
var blocked = map[string]string{
	"postgres": `SELECT count(*) FROM pg_stat_activity
WHERE datname = current_database() AND wait_event_type = 'Lock'`,
	"mariadb": `SELECT count(*) FROM information_schema.innodb_trx JOIN information_schema.processlist ON id = trx_mysql_thread_id
WHERE trx_state = 'LOCK WAIT' AND db = database()`,
}

// Another program keeps a row locked, and callers come for that lock and leave. What they have left waits at the
// server, and does not take the connections of callers who want other locks.
func TestStore_rowKeptByOthers(t *testing.T) {
	engines(t, func(t *testing.T, e *engine) {
		if e.name == "sqlite" {
			t.Skip("there is no lock on a row")
		}
		far := *e // which no other test uses
		if e.name == "mariadb" {
			far = *mariaDB(t)
		}
		s, _ := far.session(t, "a")
		take(t, s, "kept", "before", long)
		if err := s.Release(t.Context(), lockrt.Release{Key: "kept", ID: "before"}); err != nil {
			t.Fatal(err)
		}
		defer far.lockRow(t, "kept")()
		var all sync.WaitGroup
		for i := range 16 {
			all.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
				defer cancel()
				if _, err := s.Acquire(ctx, lockrt.Request{Key: "kept", ID: fmt.Sprint("kept", i), TTL: long}); err == nil {
					t.Error("granted in spite of the lock on the row")
				}
			})
		}
		all.Wait()
		var n int
		testsync.Eventually(t, "a statement waits for the row", func() bool {
			return far.db.QueryRow(blocked[e.name]).Scan(&n) == nil && n > 0
		})
		if n > 2 {
			t.Errorf("%d statements wait for the row, want 2 at the most", n)
		}
		for i := range 16 {
			all.Go(func() {
				for j := range 10 {
					req := lockrt.Request{Key: fmt.Sprint("k", i), ID: fmt.Sprint(i, "-", j), TTL: long}
					if _, err := s.Acquire(t.Context(), req); err != nil {
						t.Errorf("acquire: %v", err)
					} else if err := s.Release(t.Context(), lockrt.Release{Key: req.Key, ID: req.ID}); err != nil {
						t.Errorf("release: %v", err)
					}
				}
			})
		}
		all.Wait()
	})
}

// What is to be taken back waits for a row that another program keeps locked. Somebody gives up waiting for another lock
// meanwhile, and does not stand in its queue for as long as that lasts.
func TestStore_givesUpBesideAKeptRow(t *testing.T) {
	engines(t, func(t *testing.T, e *engine) {
		if e.name == "sqlite" {
			t.Skip("there is no lock on a row")
		}
		s, _ := e.session(t, "a")
		take(t, s, "kept", "before", long)
		take(t, s, "held", "holder", long)
		defer e.lockRow(t, "kept")()
		ctx, leave := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer leave()
		if err := s.Release(ctx, lockrt.Release{Key: "kept", ID: "before"}); err == nil {
			t.Error("released in spite of the lock on the row")
		}
		var all sync.WaitGroup
		// It takes a few ms; one that waits for the release to come to its end takes 5 s.
		var took []time.Duration
		for i := range 3 {
			ctx, leave := context.WithCancel(t.Context())
			id := fmt.Sprint("held", i)
			all.Go(func() {
				if _, err := s.Acquire(ctx, lockrt.Request{Key: "held", ID: id, TTL: long, Wait: lockrt.Forever}); err == nil {
					t.Error("granted although somebody holds the lock")
				}
			})
			waits := func() bool { _, queue := e.row(t, "held"); return strings.Contains(queue, id) }
			testsync.Eventually(t, "it stands in the queue", waits)
			gone := time.Now()
			leave()
			all.Wait()
			testsync.Eventually(t, "its place is free", func() bool { return !waits() })
			if took = append(took, time.Since(gone)); took[i] < 3*time.Second {
				return
			}
		}
		t.Errorf("who gave up stood in the queue for another %s", took)
	})
}

// Another program keeps the rows of two leases locked. The other leases of the process are renewed all the same.
func TestStore_renewsBesideAKeptRow(t *testing.T) {
	engines(t, func(t *testing.T, e *engine) {
		if e.name == "sqlite" {
			t.Skip("there is no lock on a row")
		}
		const ttl = 3 * time.Second
		for name, o := range map[string]lockrt.Options{
			"exclusive": {TTL: ttl}, "readers": {TTL: ttl, Mode: lockrt.Read}, "permits": {TTL: ttl, Permits: 2},
		} {
			t.Run(name, func(t *testing.T) {
				locks := e.locker(t, "a")
				kept := []*lockrt.Lease{testlocks.Acquire(t, locks, "kept", o), testlocks.Acquire(t, locks, "kept too", o)}
				var others []*lockrt.Lease
				for i := range 6 { // whose names come before and behind
					others = append(others, testlocks.Acquire(t, locks, fmt.Sprintf("%c", "ajlmxz"[i]), o))
				}
				defer e.lockRow(t, "kept")()
				defer e.lockRow(t, "kept too")()
				for _, lease := range kept {
					<-lease.Done()
				}
				time.Sleep(2 * ttl) // in which each has to be renewed
				for _, lease := range others {
					if err := lease.Err(); err != nil {
						t.Errorf("%q: %v", lease.Key(), err)
					}
					_ = lease.Release(t.Context())
				}
			})
		}
	})
}

// Another program keeps more rows locked than a process waits for at a time with its renewals. One more row is locked for
// a moment, and its lease is renewed while those wait.
func TestStore_renewsWhereOthersWait(t *testing.T) {
	engines(t, func(t *testing.T, e *engine) {
		if e.name == "sqlite" {
			t.Skip("there is no lock on a row")
		}
		s, _ := e.session(t, "a")
		var kept []lockrt.Renewal
		for i := range 4 {
			kept = append(kept, lockrt.Renewal{Key: fmt.Sprint("kept", i), ID: fmt.Sprint("id", i), TTL: long})
			take(t, s, kept[i].Key, kept[i].ID, long)
			defer e.lockRow(t, kept[i].Key)()
		}
		ctx, leave := context.WithTimeout(t.Context(), 2*time.Second)
		defer leave()
		for _, err := range s.Renew(ctx, kept) {
			wants(t, err, "keeps its row locked")
		}
		take(t, s, "hot", "id", long)
		// It takes some ms; one that waits for the others to come to their end takes 5 s.
		var took []time.Duration
		for i := range 3 {
			var all sync.WaitGroup
			all.Go(func() { s.Renew(context.WithoutCancel(t.Context()), kept) })
			testsync.Eventually(t, "two renewals wait", func() bool {
				var n int
				return e.db.QueryRow(blocked[e.name]).Scan(&n) == nil && n >= 2
			})
			unlock := e.lockRow(t, "hot")
			began := time.Now()
			all.Go(func() {
				hot := lockrt.Renewal{Key: "hot", ID: "id", TTL: long}
				err := s.Renew(context.WithoutCancel(t.Context()), []lockrt.Renewal{hot})[0]
				if took = append(took, time.Since(began)); err != nil {
					t.Log(err)
				}
			})
			time.Sleep(50 * time.Millisecond) // in which it finds the row locked
			unlock()
			all.Wait()
			if took[i] < 3*time.Second {
				return
			}
		}
		t.Errorf("the lease of a row that was locked for a moment was renewed after %s, while others waited", took)
	})
}

// Another program keeps the row locked with which a process shows that it lives. The process hears of its grant all the
// same.
func TestPostgres_sessionsRowKept(t *testing.T) {
	t.Parallel()
	e := postgres(t)
	a, b := e.locker(t, "a"), e.locker(t, "b")
	o := lockrt.Options{TTL: long, Wait: lockrt.Forever}
	held := testlocks.Acquire(t, a, "k", o)
	waiter := testlocks.WaitsAs(t, b, "k", o)
	tx, err := e.db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	testsync.Eventually(t, "b has shown that it lives", func() bool {
		var one int
		return tx.QueryRow("SELECT 1 FROM lockgen_session WHERE node = 'b' FOR UPDATE").Scan(&one) == nil
	})
	testlocks.Release(t, held)
	testsync.Eventually(t, "the waiter has the lock", func() bool { return len(waiter) > 0 })
	testlocks.Release(t, <-waiter)
}

// waits is how many statements about locks wait for a row or for a table of MariaDB. Those of MySQL cannot be listed beside
// others with odd bytes (3854).
func (e *engine) waits(t *testing.T) (n int) {
	t.Helper()
	query := "SELECT count(*) FROM information_schema.processlist WHERE db = database() AND info LIKE '%lockgen_lock%' AND id <> connection_id()"
	if testenv.OnMySQL() {
		query = "SELECT (SELECT count(*) FROM performance_schema.data_locks WHERE object_schema = database() AND lock_status = 'WAITING') + " +
			"(SELECT count(*) FROM performance_schema.metadata_locks WHERE object_schema = database() AND lock_status = 'PENDING')"
	}
	if err := e.db.QueryRow(query).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// Somebody keeps a row locked, or all of them, as a backup does. Statements that wait for it end at the server soon after
// their callers have left, and do not take up its connections.
func TestMariaDB_waitsEndAtTheServer(t *testing.T) {
	t.Parallel()
	for what, statements := range map[string][]string{
		"row": {"BEGIN", "UPDATE lockgen_lock SET version = version + 1", "ROLLBACK"}, "table": {"LOCK TABLES lockgen_lock WRITE", "UNLOCK TABLES"},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			e := mariaDB(t)
			locks, err := lockrt.Open(t.Context(), e.url, lockrt.Config{Namespace: t.Name()})
			if err != nil {
				t.Fatal(err)
			}
			defer locks.Close(context.WithoutCancel(t.Context()))
			testlocks.Release(t, testlocks.Acquire(t, locks, "k", lockrt.Options{TTL: long}))
			conn, err := e.db.Conn(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			last := len(statements) - 1
			for _, text := range statements[:last] {
				if _, err := conn.ExecContext(t.Context(), text); err != nil {
					t.Fatal(err)
				}
			}
			waits := func() int { return e.waits(t) }
			ctx, leave := context.WithTimeout(t.Context(), time.Second)
			defer leave()
			if _, err := locks.TryAcquire(ctx, "k", lockrt.Options{TTL: time.Second}); err == nil {
				t.Error("granted in spite of the lock on the row")
			}
			if waits() == 0 {
				t.Error("no statement waits")
			}
			left := time.Now()
			testsync.Eventually(t, "no statement waits", func() bool { return waits() == 0 })
			if d := time.Since(left); d > 45*time.Second { // they are repeated for a while; the server's default is 50 s, and a day
				t.Errorf("statements waited at the server for %s", d)
			}
			if _, err := conn.ExecContext(t.Context(), statements[last]); err != nil {
				t.Error(err)
			}
		})
	}
}

// A statement waits at the server for a row for longer than it may act. MariaDB tells it the time at which it began, so
// that it takes the lock all the same: that is taken back, though the cancel that came before it has found nothing.
func TestMariaDB_grantAfterItsTime(t *testing.T) {
	t.Parallel()
	e := mariaDB(t)
	s, _ := e.session(t, "a")
	take(t, s, "k", "before", long)
	if err := s.Release(t.Context(), lockrt.Release{Key: "k", ID: "before"}); err != nil {
		t.Fatal(err)
	}
	unlock := e.lockRow(t, "k")
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := s.Acquire(ctx, lockrt.Request{Key: "k", ID: "late", TTL: long}); err == nil {
		t.Fatal("granted in spite of the lock on the row")
	}
	time.Sleep(7 * time.Second) // it may act for 5 s
	unlock()
	testsync.Eventually(t, "the late grant is taken back", func() bool {
		var turns int
		row := e.db.QueryRow("SELECT turns FROM lockgen_lock WHERE name = ?", e.rowName(t, "k"))
		owner, _ := e.row(t, "k")
		return row.Scan(&turns) == nil && turns > 1 && owner == ""
	})
}
