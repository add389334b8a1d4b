package sqltest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/lockgen/lockgen/internal/testsync"
	"github.com/lockgen/lockgen/jobs"
	"github.com/lockgen/lockgen/jobs/sqlstore"
	lockrt "github.com/lockgen/lockgen/runtime"
)

func begin(t *testing.T, e *engine) *sql.Tx {
	t.Helper()
	tx, err := e.db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return tx
}

func letter(id string) jobs.OneOff {
	return jobs.OneOff{ID: id, Handler: mailer, At: time.Now().Add(time.Hour), Payload: []byte("\x00<p>'?")}
}

// waiting names the one-off jobs that wait.
func waiting(t *testing.T, s *sqlstore.Store) string {
	t.Helper()
	all, err := s.Waiting(t.Context(), 100)
	if err != nil {
		t.Fatal(err)
	}
	ids := make([]string, len(all))
	for i, o := range all {
		ids[i] = o.ID
	}
	return strings.Join(ids, " ")
}

func TestStore_PutTx(t *testing.T) {
	engines(t, func(t *testing.T, e *engine) {
		for name, test := range map[string]func(*testing.T, *engine){
			"exists if the transaction commits":       putCommitted,
			"leaves nothing if it is rolled back":     putRolledBack,
			"leaves nothing if its connection breaks": putBroken,
			"refuses what At refuses":                 putBad,
			"refuses a pool":                          putOnPool,
			"does nothing for a known ID":             putKnown,
			"waits for another with the same ID":      putTwice,
			"does not hold up others":                 putOpen,
			"refuses another database":                putElsewhere,
		} {
			t.Run(name, func(t *testing.T) { test(t, e) })
		}
	})
}

func putCommitted(t *testing.T, e *engine) {
	s, tx := e.store(), begin(t, e)
	o := letter("a")
	if err := s.PutTx(t.Context(), tx, o); err != nil {
		t.Fatal(err)
	}
	if e.name != "sqlite" { // where the pool would wait for its only writer
		if got := waiting(t, s); got != "" {
			t.Errorf("before the commit %q wait", got)
		}
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	all, err := s.Waiting(t.Context(), 2)
	if err != nil || len(all) != 1 || all[0].ID != "a" || string(all[0].Payload) != string(o.Payload) ||
		!all[0].At.Equal(o.At.Truncate(time.Microsecond)) {
		t.Errorf("waiting: %+v, %v; want %+v", all, err, o)
	}
}

func putRolledBack(t *testing.T, e *engine) {
	s, tx := e.store(), begin(t, e)
	if err := s.PutTx(t.Context(), tx, letter("a")); err != nil {
		t.Fatal(err)
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	if got := waiting(t, s); got != "" {
		t.Errorf("%q wait, want nothing", got)
	}
}

// putBroken has the connection go in the transaction, as when the process is killed.
func putBroken(t *testing.T, e *engine) {
	if e.name == "sqlite" {
		t.Skip("there is no connection; TestStore_processes kills a process")
	}
	s, tx := e.store(), begin(t, e)
	if err := s.PutTx(t.Context(), tx, letter("a")); err != nil {
		t.Fatal(err)
	}
	own, kill := "SELECT pg_backend_pid()", "SELECT pg_terminate_backend(%d)"
	if e.name == "mariadb" {
		own, kill = "SELECT connection_id()", "KILL %d"
	}
	var id int64
	if err := tx.QueryRowContext(t.Context(), own).Scan(&id); err != nil {
		t.Fatal(err)
	}
	if _, err := e.db.ExecContext(t.Context(), fmt.Sprintf(kill, id)); err != nil {
		t.Fatal(err)
	}
	if err := tx.Commit(); err == nil {
		t.Error("the commit of a transaction whose connection was killed succeeds")
	}
	// It goes in again, after the server has undone the first, for which this waits.
	if err := s.Put(t.Context(), letter("a")); err != nil {
		t.Fatal(err)
	}
	if got := waiting(t, s); got != "a" {
		t.Errorf("%q wait, want the second", got)
	}
}

func putBad(t *testing.T, e *engine) {
	s, tx := e.store(), begin(t, e)
	defer tx.Rollback()
	large := letter("a")
	large.Payload = make([]byte, 1<<20)
	for want, o := range map[string]jobs.OneOff{
		"id is empty":    letter(""),
		"at most":        large,
		"name is empty":  {ID: "a", At: time.Now()},
		"time is zero":   {ID: "a", Handler: mailer},
		"control":        letter("a\x00b"),
		"at most, keep ": large,
	} {
		if err := s.PutTx(t.Context(), tx, o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

func putOnPool(t *testing.T, e *engine) {
	s := e.store()
	if err := s.PutTx(t.Context(), e.db, letter("a")); !errors.Is(err, lockrt.ErrOptions) {
		t.Errorf("PutTx on a pool = %v, want ErrOptions", err)
	}
}

func putKnown(t *testing.T, e *engine) {
	s := e.store()
	put := func(o jobs.OneOff) {
		t.Helper()
		tx := begin(t, e)
		if err := errors.Join(s.PutTx(t.Context(), tx, o), tx.Commit()); err != nil {
			t.Fatal(err)
		}
	}
	first, second := letter("a"), letter("a")
	first.At = time.Now().Add(-time.Minute)
	put(first)
	second.Handler = "other"
	put(second)
	all, err := s.Waiting(t.Context(), 2)
	if err != nil || len(all) != 1 || all[0].Handler != mailer {
		t.Fatalf("waiting: %+v, %v; want the first", all, err)
	}
	c := jobs.Claim{
		Job: "one-off:" + mailer, OneOff: "a", Tick: first.At, Due: first.At, Lease: time.Minute, Keep: 3,
		InFlight: &jobs.InFlight{Owner: "o", Run: jobs.Run{ID: "r", Job: "one-off:" + mailer, OneOff: "a"}},
	}
	if got := s.Claim(t.Context(), []jobs.Claim{c}); got[0].Status != jobs.ClaimWon {
		t.Fatalf("claim: %+v", got)
	}
	put(first)
	if got := waiting(t, s); got != "" {
		t.Errorf("%q wait, want nothing: it has had its time", got)
	}
	query := "UPDATE lockgen_oneoff SET past = past - 90000000000 WHERE past > 0" // 25 h
	if _, err := e.db.ExecContext(t.Context(), query); err != nil {
		t.Fatal(err)
	}
	put(first)
	if got := waiting(t, s); got != "a" {
		t.Errorf("%q wait, want a again: its time is more than a day ago", got)
	}
}

// putTwice has two transactions put the same ID: the second waits for the first, and counts if that is rolled back.
func putTwice(t *testing.T, e *engine) {
	if e.name == "sqlite" {
		t.Skip("the whole file has one writer")
	}
	s, first, second := e.store(), begin(t, e), begin(t, e)
	if err := s.PutTx(t.Context(), first, letter("a")); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		err := s.PutTx(context.WithoutCancel(t.Context()), second, letter("a"))
		done <- errors.Join(err, second.Commit())
	}()
	if err := first.Rollback(); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if got := waiting(t, s); got != "a" {
		t.Errorf("%q wait, want the second's", got)
	}
}

// putOpen has many jobs claimed while a transaction stays open that has put another one.
func putOpen(t *testing.T, e *engine) {
	if e.name == "sqlite" {
		t.Skip("the whole file has one writer")
	}
	s, open, others := e.store(), begin(t, e), begin(t, e)
	defer open.Rollback()
	due := letter("open")
	due.At = time.Now()
	if err := s.PutTx(t.Context(), open, due); err != nil {
		t.Fatal(err)
	}
	job := "one-off:" + mailer
	var claims []jobs.Claim
	for i := range 64 {
		o := due
		o.ID = fmt.Sprint("ab"[i%2:][:1], "pz"[i/2%2:][:1], i) // on either side of the other
		if i%2 == 0 {
			o.ID = "z" + o.ID
		}
		if err := s.PutTx(t.Context(), others, o); err != nil {
			t.Fatal(err)
		}
		claims = append(claims, jobs.Claim{
			Job: job, OneOff: o.ID, Tick: o.At, Due: time.Unix(1, 0), Lease: time.Minute,
			InFlight: &jobs.InFlight{Owner: "o", Run: jobs.Run{ID: "r" + o.ID, Job: job, OneOff: o.ID}},
		})
	}
	if err := others.Commit(); err != nil {
		t.Fatal(err)
	}
	for i, got := range s.Claim(t.Context(), claims) {
		if got.Err != nil || got.Status != jobs.ClaimWon {
			t.Fatalf("claim of %s beside the open transaction: %+v", claims[i].OneOff, got)
		}
	}
}

// A transaction of pgx, and what other libraries pass around, fit.
func TestStore_PutTx_others(t *testing.T) {
	t.Parallel()
	e := postgres(t)
	s := e.store()
	conn, err := pgx.Connect(t.Context(), e.url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	tx, err := conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.PutTx(t.Context(), sqlstore.PgxTx(tx), letter("pgx")); err != nil {
		t.Fatal(err)
	}
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	one, err := e.db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer one.Close()
	_, begin := one.ExecContext(t.Context(), "BEGIN")
	put := s.PutTx(t.Context(), one, letter("conn"))
	_, commit := one.ExecContext(t.Context(), "COMMIT")
	if err := errors.Join(begin, put, commit); err != nil {
		t.Fatal(err)
	}
	pq := openDB(t, "postgres", e.url)
	other, err := pq.BeginTx(t.Context(), &sql.TxOptions{Isolation: sql.LevelSerializable})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.PutTx(t.Context(), other, letter("pq")), other.Commit()); err != nil {
		t.Fatal(err)
	}
	if got := len(strings.Fields(waiting(t, s))); got != 3 {
		t.Errorf("%q wait, want three", waiting(t, s))
	}
}

// TestStore_storm has nodes and callers' transactions work on the same jobs in opposite orders: each tick and each
// one-off job is won once, and no call fails.
func TestStore_storm(t *testing.T) {
	engines(t, func(t *testing.T, e *engine) {
		const nodes, many, rounds = 4, 40, 15
		first := e.store()
		namespace := fmt.Sprint("n", e.n.Load())
		offers := jobs.Registration{Session: "s"}
		for i := range many {
			offers.Offers = append(offers.Offers, jobs.Offer{Definition: jobs.Definition{Job: fmt.Sprint("job-", i)}})
		}
		view, err := first.Register(t.Context(), offers)
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		var mu sync.Mutex
		won := make(map[string]int)
		for n := range nodes {
			s := sqlstore.New(e.db, sqlstore.Config{Namespace: namespace})
			wg.Go(func() {
				for round := range rounds {
					claims := stormClaims(view, n, round, many)
					var starts []jobs.Start
					var finishes []jobs.Finish
					var answers []jobs.Claimed
					e.calm(t, func() error {
						answers = s.Claim(context.Background(), claims)
						return errors.Join(errsOf(answers)...)
					})
					for i, got := range answers {
						if got.Status != jobs.ClaimWon {
							continue
						}
						run := claims[i].InFlight.Run
						mu.Lock()
						won[fmt.Sprint(run.Job, " ", round)]++
						mu.Unlock()
						starts = append(starts, jobs.Start{Run: run, Owner: claims[i].InFlight.Owner, Lease: time.Minute})
						run.Outcome = jobs.OutcomeOK
						finishes = append(finishes, jobs.Finish{Run: run, Owner: claims[i].InFlight.Owner, Keep: 5, Lease: time.Minute})
					}
					e.calm(t, func() error { return errors.Join(s.Start(context.Background(), starts)...) })
					e.calm(t, func() error { return errors.Join(s.Finish(context.Background(), finishes)...) })
				}
			})
		}
		wg.Wait()
		for what, n := range won {
			if n != 1 {
				t.Errorf("%s was won %d times", what, n)
			}
		}
		v, err := first.Look(t.Context(), []string{"job-0", "job-39"})
		if err != nil || len(v.Jobs[0].InFlight)+len(v.Jobs[1].InFlight) != 0 {
			t.Errorf("in the end: %+v, %v; want nothing in flight", v, err)
		}
		records, err := first.Runs(t.Context(), []string{"job-0"}, 100)
		if err != nil || len(records[0]) > 5 || len(records[0]) == 0 {
			t.Errorf("%d records, %v; want up to five", len(records[0]), err)
		}
		if e.name == "postgres" {
			_ = e.db.Close() // its connections say what they have counted
			if n := e.deadlocks(t); n > 0 {
				t.Errorf("%d deadlocks: rows are not locked in order", n)
			}
		}
	})
}

// calm repeats what had no answer in time: on a busy machine those who write to one SQLite file do not come in order.
// All else that fails is an error.
func (e *engine) calm(t *testing.T, call func() error) {
	for end := time.Now().Add(testsync.Patience); ; {
		err := call()
		if err == nil {
			return
		}
		if e.name != "sqlite" || !strings.Contains(err.Error(), "did not answer within") || time.Now().After(end) {
			t.Error(err)
			return
		}
	}
}

func errsOf(answers []jobs.Claimed) []error {
	errs := make([]error, len(answers))
	for i, a := range answers {
		errs[i] = a.Err
	}
	return errs
}

// stormClaims asks for the ticks of a round, every other node from the last job to the first.
func stormClaims(view jobs.View, node, round, many int) (claims []jobs.Claim) {
	for i := range many {
		if node%2 == 1 {
			i = many - 1 - i
		}
		job, owner := fmt.Sprint("job-", i), fmt.Sprint("node-", node)
		prev := view.Jobs[i].Cursor.Add(time.Duration(round) * time.Microsecond)
		tick := prev.Add(time.Microsecond)
		claims = append(claims, jobs.Claim{
			Job: job, Prev: prev, Tick: tick, Due: view.Now, Lease: time.Minute, Keep: 5,
			InFlight: &jobs.InFlight{Owner: owner, Run: jobs.Run{ID: fmt.Sprint(job, "@", owner, ".", round), Job: job, Tick: tick}},
		})
	}
	return claims
}

// putElsewhere puts jobs in transactions of other databases, where no node would find them.
func putElsewhere(t *testing.T, e *engine) {
	s := e.store()
	refused := func(what string, db *sql.DB) {
		t.Helper()
		other := &engine{name: e.name, db: db}
		tx := begin(t, other)
		defer tx.Rollback()
		if err := s.PutTx(t.Context(), tx, letter("a")); !errors.Is(err, lockrt.ErrOptions) {
			t.Errorf("%s: %v, want ErrOptions", what, err)
		}
	}
	file := func() *sql.DB { return openDB(t, "sqlite", "file:"+t.TempDir()+"/jobs.db?_pragma=busy_timeout(5000)") }
	own := file()
	createTables(t, own, sqlstore.Config{})
	if e.name == "sqlite" {
		refused("another file", file())
		refused("another file with tables", own)
		return
	}
	refused("SQLite", own)
	var other *sql.DB
	if e.name == "postgres" {
		other = openDB(t, "pgx", e.another(t, "pgx", e.url))
	} else {
		other = openDB(t, "mysql", mysqlDSN(e.another(t, "mysql", mysqlDSN(e.url))))
	}
	refused("a database without tables", other)
	createTables(t, other, sqlstore.Config{})
	refused("a database with tables", other)
	tx := begin(t, e)
	if err := errors.Join(s.PutTx(t.Context(), tx, letter("a")), tx.Commit()); err != nil {
		t.Errorf("in its own, after all that: %v", err)
	}
}

// A copy of the database has the same rows.
func TestStore_PutTx_inACopy(t *testing.T) {
	t.Parallel()
	e := postgres(t)
	s := e.store()
	tx := begin(t, e)
	if err := errors.Join(s.PutTx(t.Context(), tx, letter("a")), tx.Commit()); err != nil {
		t.Fatal(err)
	}
	other, name := openDB(t, "pgx", e.another(t, "pgx", e.url)), regexp.MustCompile(`own\d+`).FindString(e.url)
	testsync.Eventually(t, "the database is copied", func() bool { // which needs it for itself
		_, _ = other.Exec("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '" + name + "'")
		_, err := other.Exec("CREATE DATABASE " + name + "copy TEMPLATE " + name)
		return err == nil
	})
	copied := &engine{name: "postgres", db: openDB(t, "pgx", e.at(name+"copy"))}
	tx = begin(t, copied)
	defer tx.Rollback()
	if err := s.PutTx(t.Context(), tx, letter("b")); !errors.Is(err, lockrt.ErrOptions) {
		t.Errorf("%v, want ErrOptions", err)
	}
}
