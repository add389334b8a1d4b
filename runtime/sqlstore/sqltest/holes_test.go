package sqltest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lockgen/lockgen/internal/testsync"
	lockrt "github.com/lockgen/lockgen/runtime"
)

// What goes wrong in a database and nowhere else.
func TestStore_holes(t *testing.T) {
	engines(t, func(t *testing.T, e *engine) {
		for name, test := range map[string]func(*testing.T, *engine){
			"a stale lease and its successor are renewed together": staleAndSuccessor,
			"many callers want the same few locks":                 sameFewLocks,
			"a request comes late":                                 lateRequests,
			"a statement waits longer than a process counts live":  waitsForRow,
			"a waiter is dead":                                     deadWaiter,
			"a dead writer keeps no readers waiting":               deadWriterAmongReaders,
			"a break that cannot tell does not mark":               breakIsOneStep,
			"a break comes before the process shows itself":        breakBeforeLife,
			"what was told is forgotten when it was heeded":        toldIsAcknowledged,
			"a busy lock is not written to":                        busyWritesNothing,
			"a pool of one connection":                             smallPool,
			"a pool that is used up":                               usedUpPool,
			"a queue has an end":                                   fullQueue,
			"keys are longer than an index holds":                  longKeys,
			"a row was deleted":                                    deletedRow,
			"another program writes to the table":                  foreignQueue,
		} {
			t.Run(name, func(t *testing.T) { test(t, e) })
		}
	})
}

func staleAndSuccessor(t *testing.T, e *engine) {
	s, _ := e.session(t, "a")
	take(t, s, "k", "stale", short)
	testsync.Eventually(t, "the lease runs out", func() bool {
		_, err := s.Acquire(t.Context(), lockrt.Request{Key: "k", ID: "next", TTL: long})
		return err == nil
	})
	errs := s.Renew(t.Context(), []lockrt.Renewal{{Key: "k", ID: "stale", TTL: long}, {Key: "k", ID: "next", TTL: long}})
	if !errors.Is(errs[0], lockrt.ErrLost) || errs[1] != nil {
		t.Errorf("the stale lease: %v, its successor: %v", errs[0], errs[1])
	}
}

func sameFewLocks(t *testing.T, e *engine) {
	s, _ := e.session(t, "a")
	var wg sync.WaitGroup
	var granted [3]atomic.Int32
	for i := range 90 {
		wg.Go(func() {
			_, err := s.Acquire(t.Context(), lockrt.Request{Key: fmt.Sprint("k", i%3), ID: fmt.Sprint("id", i), TTL: long})
			switch {
			case err == nil:
				granted[i%3].Add(1)
			case !errors.Is(err, lockrt.ErrBusy):
				t.Errorf("caller %d: %v", i, err)
			}
		})
	}
	wg.Wait()
	for i := range granted {
		if n := granted[i].Load(); n != 1 {
			t.Errorf("lock %d was granted to %d", i, n)
		}
	}
}

// A statement waits on the server for a row that somebody has locked, and its caller does not: when it goes on, nothing
// may come of it.
func lateRequests(t *testing.T, e *engine) {
	for name, prepare := range map[string]func(t *testing.T, s lockrt.Session) lockrt.Request{
		"for a free lock": func(t *testing.T, s lockrt.Session) lockrt.Request {
			take(t, s, "k", "before", long)
			if err := s.Release(t.Context(), lockrt.Release{Key: "k", ID: "before"}); err != nil {
				t.Fatal(err)
			}
			return lockrt.Request{Key: "k", ID: "late", TTL: long}
		},
		"for a lock whose lease is over": func(t *testing.T, s lockrt.Session) lockrt.Request {
			take(t, s, "k", "before", time.Millisecond)
			return lockrt.Request{Key: "k", ID: "late", TTL: long}
		},
		"for a place in the queue": func(t *testing.T, s lockrt.Session) lockrt.Request {
			take(t, s, "k", "before", long)
			return lockrt.Request{Key: "k", ID: "late", TTL: long, Wait: lockrt.Forever}
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := e.session(t, "a")
			req := prepare(t, s)
			unlock := e.lockRow(t, "k")
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			// It returns while the row is still locked: only what follows unlocks it.
			if _, err := s.Acquire(ctx, req); err == nil {
				t.Fatal("granted in spite of the lock on the row")
			}
			time.Sleep(200 * time.Millisecond) // the first cancel finds nothing
			unlock()
			closeSession(t, s) // when it returns everything that was left over is cancelled
			testsync.Eventually(t, "nothing came of the request", func() bool {
				owner, queue := e.row(t, "k")
				return owner != "late" && !strings.Contains(queue, "late")
			})
		})
	}
}

// A row is locked for longer than a process counts as live without showing itself. Those who wait show themselves all
// the time, and come first.
func waitsForRow(t *testing.T, e *engine) {
	if e.name == "sqlite" {
		t.Skip("it locks the whole file, so that nobody can show life")
	}
	quick := *e
	quick.cfg.Liveness = 600 * time.Millisecond
	holder, _ := quick.session(t, "holder")
	first, _ := quick.session(t, "first")
	second, _ := quick.session(t, "second")
	take(t, holder, "k", "holder", time.Second)
	next := quick.waiting(t, first, "k", "first")
	unlock := e.lockRow(t, "k")
	last := make(chan outcome, 1)
	go func() {
		g, err := second.Acquire(t.Context(), lockrt.Request{Key: "k", ID: "second", TTL: long, Wait: lockrt.Forever})
		last <- outcome{g, err}
	}()
	time.Sleep(2 * time.Second) // the lease is over, and everybody silent for long who waits for the row
	unlock()
	one := end(t, next)
	if one.err != nil {
		t.Fatal(one.err)
	}
	if err := first.Release(t.Context(), lockrt.Release{Key: "k", ID: "first"}); err != nil {
		t.Fatal(err)
	}
	if two := end(t, last); two.err != nil || two.grant.Epoch <= one.grant.Epoch {
		t.Errorf("the newcomer has epoch %d after %d, %v", two.grant.Epoch, one.grant.Epoch, two.err)
	}
}

// A dead process in the queue is passed over, but not while the server has not been up for as long as it takes to show
// life.
func deadWaiter(t *testing.T, e *engine) {
	for liveness, granted := range map[time.Duration]bool{200 * time.Millisecond: true, 100 * time.Hour: e.name != "postgres"} {
		t.Run(liveness.String(), func(t *testing.T) {
			ttl := "60000000"
			if granted {
				ttl = "1" // of no consequence if the server has only just started
			}
			other := *e
			other.cfg.Liveness = liveness
			s, _ := other.session(t, "a")
			take(t, s, "k", "before", time.Millisecond)
			e.exec(t, "UPDATE lockgen_lock SET queue = ? WHERE name = ?", "\ndead "+ttl+" 1 gone node", e.rowName(t, "k"))
			testsync.Eventually(t, "the lock is somebody else's", func() bool {
				_, _ = s.Acquire(t.Context(), lockrt.Request{Key: "k", ID: "1", TTL: long})
				owner, _ := e.row(t, "k")
				return owner == map[bool]string{true: "1", false: "dead"}[granted]
			})
		})
	}
}

// A dead writer at the head of the queue does not keep readers from others who read, and whose leases never end.
func deadWriterAmongReaders(t *testing.T, e *engine) {
	other := *e
	other.cfg.Liveness = 200 * time.Millisecond
	s, _ := other.session(t, "a")
	read := lockrt.Request{Key: "k", ID: "1", TTL: long, Mode: lockrt.Read, Wait: lockrt.Forever}
	if _, err := s.Acquire(t.Context(), read); err != nil {
		t.Fatal(err)
	}
	line := fmt.Sprintf("\ndead 60000000 %d gone node", time.Now().Add(time.Second).UnixMicro()) // it dies after the next has come
	e.exec(t, "UPDATE lockgen_lock SET queue = ? WHERE name = ?", line, e.rowName(t, "k"))
	b, _ := other.session(t, "b")
	read.ID = "2"
	done := make(chan outcome, 1)
	go func() {
		g, err := b.Acquire(context.WithoutCancel(t.Context()), read)
		done <- outcome{g, err}
	}()
	if o := end(t, done); o.err != nil {
		t.Error(o.err)
	}
}

// The mark on the lock and what the holder's process is told are one step: where the second is impossible the first
// does not happen.
func breakIsOneStep(t *testing.T, e *engine) {
	s, losses := e.session(t, "a")
	g := take(t, s, "k", "1", long)
	breaker := s.(lockrt.Breaker)
	for _, force := range []bool{false, true} {
		undo := e.refuseTold(t)
		b := lockrt.Breaking{Key: "k", ID: "1", Fence: lockrt.FenceOf(g.Epoch), Reason: "test", Force: force}
		if err := breaker.Break(t.Context(), b); err == nil {
			t.Errorf("force %v: the break succeeds", force)
		}
		undo()
		if err := s.Renew(t.Context(), []lockrt.Renewal{{Key: "k", ID: "1", TTL: long}})[0]; err != nil {
			t.Errorf("force %v: the lease is %v", force, err)
		}
	}
	b := lockrt.Breaking{Key: "k", ID: "1", Fence: lockrt.FenceOf(g.Epoch), Reason: "test"}
	if err := breaker.Break(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	if l := <-losses; l.id != "1" || !strings.Contains(l.reason.Error(), "test") {
		t.Errorf("told of %q: %v", l.id, l.reason)
	}
}

// refuseTold makes the table of sessions refuse that a session is told something.
func (e *engine) refuseTold(t *testing.T) (undo func()) {
	t.Helper()
	create := map[string][]string{
		"postgres": {
			`CREATE OR REPLACE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'no'; END $$`,
			`CREATE TRIGGER refuse BEFORE UPDATE ON lockgen_session FOR EACH ROW WHEN (new.told <> '') EXECUTE FUNCTION refuse()`,
			`CREATE TRIGGER refuse_new BEFORE INSERT ON lockgen_session FOR EACH ROW WHEN (new.told <> '') EXECUTE FUNCTION refuse()`,
		},
		"mariadb": {`CREATE TRIGGER refuse BEFORE UPDATE ON lockgen_session FOR EACH ROW
IF NEW.told <> '' THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'no'; END IF`},
		"sqlite": {
			`CREATE TRIGGER refuse BEFORE UPDATE ON lockgen_session WHEN new.told <> '' BEGIN SELECT RAISE(ABORT, 'no'); END`,
			`CREATE TRIGGER refuse_new BEFORE INSERT ON lockgen_session WHEN new.told <> '' BEGIN SELECT RAISE(ABORT, 'no'); END`,
		},
	}[e.name]
	// In MariaDB a session that has not shown itself yet is told nothing.
	testsync.Eventually(t, "the session has shown itself", func() bool {
		var n int
		err := e.db.QueryRow(e.text("SELECT count(*) FROM lockgen_session WHERE session = (SELECT session FROM lockgen_lock WHERE name = ?)"),
			e.rowName(t, "k")).Scan(&n)
		return err == nil && n == 1
	})
	for _, text := range create {
		e.exec(t, text)
	}
	return func() {
		on := ""
		if e.name == "postgres" {
			on = " ON lockgen_session"
		}
		e.exec(t, "DROP TRIGGER IF EXISTS refuse"+on)
		e.exec(t, "DROP TRIGGER IF EXISTS refuse_new"+on)
	}
}

// A lease is broken while its process has no row yet in which it could be told.
func breakBeforeLife(t *testing.T, e *engine) {
	if e.name != "mariadb" {
		t.Skip("the break makes the row")
	}
	e.exec(t, "CREATE TRIGGER late BEFORE INSERT ON lockgen_session FOR EACH ROW DO SLEEP(0.5)")
	defer e.exec(t, "DROP TRIGGER late")
	s, losses := e.session(t, "a")
	g := take(t, s, "k", "1", long)
	b := lockrt.Breaking{Key: "k", ID: "1", Fence: lockrt.FenceOf(g.Epoch), Reason: "test"}
	if err := s.(lockrt.Breaker).Break(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	select {
	case l := <-losses:
		if l.id != "1" || !strings.Contains(l.reason.Error(), "test") {
			t.Errorf("lost is %q: %v", l.id, l.reason)
		}
	case <-time.After(testsync.Patience):
		t.Error("nobody is told")
	}
}

func toldIsAcknowledged(t *testing.T, e *engine) {
	a, losses := e.session(t, "a")
	b, _ := e.session(t, "b")
	g := take(t, a, "k", "1", long)
	testsync.Eventually(t, "the session has shown itself", func() bool { return e.count(t, "lockgen_session") >= 1 })
	breaking := lockrt.Breaking{Key: "k", ID: "1", Fence: lockrt.FenceOf(g.Epoch), Reason: "a reason\nof two lines, 100 %"}
	if err := b.(lockrt.Breaker).Break(t.Context(), breaking); err != nil {
		t.Fatal(err)
	}
	<-losses
	testsync.Eventually(t, "nothing is left to be told", func() bool {
		var n int
		err := e.db.QueryRow("SELECT count(*) FROM lockgen_session WHERE told <> ''").Scan(&n)
		return err == nil && n == 0
	})
	select {
	case l := <-losses:
		t.Errorf("told twice, of %q", l.id)
	default:
	}
}

func (e *engine) count(t *testing.T, table string) (n int) {
	t.Helper()
	if err := e.db.QueryRow("SELECT count(*) FROM " + table).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func busyWritesNothing(t *testing.T, e *engine) {
	s, _ := e.session(t, "a")
	take(t, s, "k", "1", long)
	version := func() (n int64) {
		if err := e.db.QueryRow(e.text("SELECT version FROM lockgen_lock WHERE name = ?"), e.rowName(t, "k")).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	before := version()
	for i := range 20 {
		_, err := s.Acquire(t.Context(), lockrt.Request{Key: "k", ID: fmt.Sprint("b", i), TTL: long})
		if !errors.Is(err, lockrt.ErrBusy) {
			t.Fatal(err)
		}
	}
	if after := version(); after != before {
		t.Errorf("the row was changed %d times", after-before)
	}
}

func smallPool(t *testing.T, e *engine) {
	db := openLike(t, e)
	db.SetMaxOpenConns(1)
	small := *e
	small.db = db
	a, b := small.locker(t, "a"), small.locker(t, "b")
	lease, err := a.Acquire(t.Context(), "k", lockrt.Options{TTL: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	first := lease.Deadline()
	next := make(chan error, 1)
	go func() {
		lease, err := b.Acquire(t.Context(), "k", lockrt.Options{TTL: long, Wait: lockrt.Forever})
		next <- errors.Join(err, lease.Release(t.Context()))
	}()
	testsync.Eventually(t, "the lease is renewed", func() bool { return lease.Deadline().After(first.Add(time.Second)) })
	if err := lease.Release(t.Context()); err != nil {
		t.Error(err)
	}
	if err := <-next; err != nil {
		t.Error(err)
	}
}

// Work that takes all connections of a pool does not lose its locks.
func usedUpPool(t *testing.T, e *engine) {
	if e.name == "sqlite" {
		t.Skip("one writer at a time: there is no work that takes all")
	}
	db := openLike(t, e)
	db.SetMaxOpenConns(6)
	small := *e
	small.db = db
	l := small.locker(t, "a")
	lease, err := l.Acquire(t.Context(), "k", lockrt.Options{TTL: 2 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	testsync.Eventually(t, "the session keeps a connection", func() bool { return db.Stats().InUse == 1 })
	for range 5 { // one that the session asks something with for a moment is waited for
		conn, err := db.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
	}
	testsync.Eventually(t, "all connections are in use", func() bool { return db.Stats().InUse == 6 })
	_, err = l.Acquire(t.Context(), "other", lockrt.Options{TTL: time.Second, Wait: 300 * time.Millisecond})
	wants(t, err, "did not answer within 300ms", "all 6 connections of the pool were in use")
	first := lease.Deadline()
	testsync.Eventually(t, "the lease outlives its TTL", func() bool {
		return lease.Deadline().After(first.Add(2*time.Second)) || lease.Err() != nil
	})
	if err := lease.Err(); err != nil {
		t.Error(err)
	}
}

func fullQueue(t *testing.T, e *engine) {
	s, _ := e.session(t, "a")
	take(t, s, "k", "1", long)
	var queue strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&queue, "\nw%d 60000000 1 gone node", i)
	}
	e.exec(t, "UPDATE lockgen_lock SET queue = ? WHERE name = ?", queue.String(), e.rowName(t, "k"))
	_, err := s.Acquire(t.Context(), lockrt.Request{Key: "k", ID: "2", TTL: long, Wait: long})
	if err == nil || !strings.Contains(err.Error(), "1000 processes") || errors.Is(err, lockrt.ErrBusy) {
		t.Errorf("the error is %v", err)
	}
}

func longKeys(t *testing.T, e *engine) {
	s, _ := e.session(t, "a")
	prefix := strings.Repeat("x", 4000)
	for i := range 5 {
		take(t, s, prefix+fmt.Sprint(i), fmt.Sprint(i), long)
	}
	take(t, s, prefix[:300], "short", long)
	for prefix, want := range map[string]int{prefix: 5, prefix[:300]: 6, prefix + "3": 1, prefix[:3999] + "y": 0} {
		infos, err := s.List(t.Context(), prefix)
		if err != nil || len(infos) != want {
			t.Errorf("%d locks begin with …%s, %v, want %d", len(infos), prefix[max(0, len(prefix)-5):], err, want)
		}
	}
	info, err := s.(lockrt.Inspector).Inspect(t.Context(), prefix+"2")
	if err != nil || info.ID != "2" || info.Key != prefix+"2" {
		t.Errorf("%q, %v", info.ID, err)
	}
}

func deletedRow(t *testing.T, e *engine) {
	s, _ := e.session(t, "a")
	take(t, s, "k", "1", long)
	next := e.waiting(t, s, "k", "2")
	e.exec(t, "DELETE FROM lockgen_lock WHERE name = ?", e.rowName(t, "k"))
	if o := end(t, next); o.err != nil {
		t.Error(o.err)
	}
	if err := s.Renew(t.Context(), []lockrt.Renewal{{Key: "k", ID: "1", TTL: long}})[0]; !errors.Is(err, lockrt.ErrLost) {
		t.Errorf("renewal of a lease that was deleted: %v", err)
	}
}

func foreignQueue(t *testing.T, e *engine) {
	s, _ := e.session(t, "a")
	take(t, s, "k", "1", long)
	e.exec(t, "UPDATE lockgen_lock SET queue = ? WHERE name = ?", "\nwhat is this", e.rowName(t, "k"))
	_, err := s.Acquire(t.Context(), lockrt.Request{Key: "k", ID: "2", TTL: long})
	if err == nil || errors.Is(err, lockrt.ErrBusy) || !strings.Contains(err.Error(), "what is this") {
		t.Errorf("the error is %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), testsync.Patience)
	defer cancel()
	wants(t, s.Release(ctx, lockrt.Release{Key: "k", ID: "1"}), "what is this")
	if ctx.Err() != nil {
		t.Error("the release was tried again and again")
	}
}

// openLike opens another pool on the engine's database.
func openLike(t *testing.T, e *engine) *sql.DB {
	t.Helper()
	switch e.name {
	case "postgres":
		return openDB(t, "pgx", e.url)
	case "mariadb":
		return openDB(t, "mysql", mysqlDSN(e.url))
	}
	return openSQLite(t, e.url)
}
