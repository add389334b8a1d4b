package sqltest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/lockgen/lockgen/internal/testenv"
	"github.com/lockgen/lockgen/internal/testsync"
	"github.com/lockgen/lockgen/jobs"
	"github.com/lockgen/lockgen/jobs/sqlstore"
	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/memstore"
)

// only runs one handler on one node, on a job with retries, and returns the records once want of them are there.
func (e *engine) only(
	t *testing.T, store *sqlstore.Store, want int, run func(ctx context.Context, id string) error,
) []jobs.Run {
	t.Helper()
	quiet := slog.New(slog.DiscardHandler)
	locks, err := lockrt.New(memstore.New(), lockrt.Config{Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = locks.Close(context.Background()) }()
	s, err := jobs.New(locks, jobs.Config{Store: store, Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.AddHandler(jobs.Handler{Name: mailer, Retries: 3, Run: func(ctx context.Context, id string, _ []byte) error {
		return run(ctx, id)
	}}); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	defer func() {
		if stop(); <-ended != nil {
			t.Error("the node did not end as it should")
		}
	}()
	if err := s.At(t.Context(), mailer, "a", time.Now(), nil); err != nil {
		t.Fatal(err)
	}
	var all [][]jobs.Run
	testsync.Eventually(t, "the run is recorded", func() bool {
		all, err = store.Runs(t.Context(), []string{"one-off:" + mailer}, 10)
		return err == nil && len(all[0]) >= want
	})
	return all[0]
}

func TestStore_CompleteTx(t *testing.T) {
	engines(t, func(t *testing.T, e *engine) {
		e.exec(t, "CREATE TABLE effect (id varchar(100))")
		for name, test := range map[string]func(*testing.T, *engine){
			"whatever the function returns": completeThenFail,
			"not if it is rolled back":      completeRolledBack,
			"not where the run is not":      completeElsewhere,
			"a node is taken for dead":      completeUnderTakeover,
			"an answer to a commit is lost": completeAgain,
			"on one connection":             completeOnConn,
			"bounds its silence":            completeIdle,
		} {
			t.Run(name, func(t *testing.T) {
				e.exec(t, "DELETE FROM effect")
				test(t, e)
			})
		}
	})
}

// effects is how often the work was committed.
func (e *engine) effects(t *testing.T) (n int) {
	t.Helper()
	if err := e.db.QueryRow("SELECT count(*) FROM effect").Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// complete does the work and ends the run in one transaction, each call with a context of its own.
func (e *engine) complete(ctx context.Context, store *sqlstore.Store, calls int) (*sql.Tx, error) {
	tx, err := e.db.BeginTx(ctx, nil)
	if err != nil {
		return nil, err
	}
	_, err = tx.ExecContext(ctx, "INSERT INTO effect VALUES ('a')")
	for range calls {
		call, cancel := context.WithCancel(ctx)
		over := make(chan struct{})
		context.AfterFunc(call, func() { close(over) })
		err = errors.Join(err, store.CompleteTx(call, tx))
		cancel()
		<-over
	}
	return tx, err
}

func completeThenFail(t *testing.T, e *engine) {
	store := e.store()
	runs := e.only(t, store, 1, func(ctx context.Context, _ string) error {
		tx, err := e.complete(ctx, store, 2)
		if err = errors.Join(err, tx.Commit()); err != nil {
			t.Error(err)
		}
		return errors.New("the mail is out, and this does not matter")
	})
	r := runs[0]
	if r.Outcome != jobs.OutcomeOK || !strings.Contains(r.Reason, "committed") || !strings.Contains(r.Error, "the mail is out") {
		t.Errorf("%+v, want a success that says how it came to be", r)
	}
	if n := e.effects(t); n != 1 {
		t.Errorf("the work was committed %d times", n)
	}
	if left, err := store.InFlight(t.Context()); err != nil || len(left) != 0 {
		t.Errorf("%+v are in flight, %v", left, err)
	}
}

// The first try is rolled back, which is as if it had not been completed: there is a second.
func completeRolledBack(t *testing.T, e *engine) {
	store, try := e.store(), 0
	runs := e.only(t, store, 2, func(ctx context.Context, _ string) error {
		try++
		tx, err := e.complete(ctx, store, 1)
		if err != nil {
			t.Error(err)
		}
		if try == 1 {
			return errors.Join(errors.New("no"), tx.Rollback())
		}
		return tx.Commit()
	})
	if runs[0].Outcome != jobs.OutcomeOK || runs[1].Outcome != jobs.OutcomeError || e.effects(t) != 1 {
		t.Errorf("%+v, and %d times committed", runs, e.effects(t))
	}
}

// The function does not hear that its transaction has committed, and tries again.
func completeAgain(t *testing.T, e *engine) {
	store := e.store()
	runs := e.only(t, store, 1, func(ctx context.Context, _ string) error {
		tx, err := e.complete(ctx, store, 1)
		if err = errors.Join(err, tx.Commit()); err != nil {
			t.Error(err)
		}
		tx, err = e.complete(ctx, store, 1)
		if !errors.Is(err, jobs.ErrGone) {
			t.Errorf("in a second transaction: %v, want ErrGone", err)
		}
		return errors.Join(err, tx.Rollback())
	})
	if runs[0].Outcome != jobs.OutcomeOK || e.effects(t) != 1 {
		t.Errorf("%+v, and %d times committed", runs, e.effects(t))
	}
}

// The function has a connection, and says BEGIN and COMMIT itself: a second transaction on it is another one all the same.
func completeOnConn(t *testing.T, e *engine) {
	store := e.store()
	e.only(t, store, 1, func(ctx context.Context, _ string) error {
		conn, err := e.db.Conn(ctx)
		if err != nil {
			return err
		}
		defer conn.Close()
		once := func(wrapped sqlstore.Tx) error {
			_, err := conn.ExecContext(ctx, "BEGIN")
			if err == nil {
				_, err = conn.ExecContext(ctx, "INSERT INTO effect VALUES ('a')")
			}
			end := "COMMIT"
			if err = errors.Join(err, store.CompleteTx(ctx, wrapped)); err != nil {
				end = "ROLLBACK"
			}
			_, ended := conn.ExecContext(ctx, end)
			return errors.Join(err, ended)
		}
		if err := once(conn); err != nil {
			t.Error(err)
		}
		if err := once(conn); !errors.Is(err, jobs.ErrGone) {
			t.Errorf("in a second transaction: %v, want ErrGone", err)
		}
		type wrapper struct{ *sql.Conn } // as sqlx has one
		wrapped := &wrapper{conn}
		if err := errors.Join(once(wrapped), once(wrapped)); !errors.Is(err, jobs.ErrGone) {
			t.Errorf("in a third transaction: %v, want ErrGone", err)
		}
		return nil
	})
	if n := e.effects(t); n != 1 {
		t.Errorf("the work was committed %d times", n)
	}
}

// PostgreSQL ends the transaction of a node that has stopped in it.
func completeIdle(t *testing.T, e *engine) {
	if e.name != "postgres" {
		t.Skip("it has no limit that is a transaction's own")
	}
	store := e.store()
	e.only(t, store, 1, func(ctx context.Context, _ string) error {
		for set, want := range map[string]string{"0": "30s", "7s": "7s", "10min": "30s"} {
			tx, err := e.db.BeginTx(ctx, nil)
			if err != nil {
				return err
			}
			_, err = tx.Exec("SET LOCAL idle_in_transaction_session_timeout = '" + set + "'")
			if err = errors.Join(err, store.CompleteTx(ctx, tx)); err != nil {
				t.Error(err)
			}
			var got string
			if err := tx.QueryRow("SHOW idle_in_transaction_session_timeout").Scan(&got); err != nil || got != want {
				t.Errorf("where %s is set it becomes %s, %v; want %s", set, got, err, want)
			}
			if err := tx.Rollback(); err != nil {
				t.Error(err)
			}
		}
		return nil
	})
}

func completeElsewhere(t *testing.T, e *engine) {
	store, other := e.store(), e.store()
	e.only(t, store, 1, func(ctx context.Context, _ string) error {
		tx, err := e.complete(ctx, other, 1)
		if !errors.Is(err, jobs.ErrGone) {
			t.Errorf("in a store that does not have the run: %v, want ErrGone", err)
		}
		if err := store.CompleteTx(ctx, e.db); !errors.Is(err, lockrt.ErrOptions) {
			t.Errorf("on a pool: %v", err)
		}
		for _, none := range nothings() {
			if err := store.CompleteTx(ctx, none); !errors.Is(err, lockrt.ErrOptions) {
				t.Errorf("on a nil %T: %v", none, err)
			}
		}
		if err := store.CompleteTx(context.Background(), tx); !errors.Is(err, lockrt.ErrOptions) {
			t.Errorf("outside of a run: %v", err)
		}
		return tx.Rollback()
	})
}

// Another node finds the session dead while the transaction is open: it takes over what else the session has, of the same
// job too, waits for nothing, and finds the run complete when that has committed. The session's late transaction finds the
// run gone.
func completeUnderTakeover(t *testing.T, e *engine) {
	if e.name == "sqlite" {
		t.Skip("the file has one writer")
	}
	store := e.store()
	runs := e.only(t, store, 2, func(ctx context.Context, _ string) error {
		id, _ := jobs.RunFromContext(ctx)
		left, err := store.InFlight(ctx)
		if err != nil || len(left) != 1 {
			t.Errorf("%+v, %v", left, err)
			return err
		}
		tx, err := e.complete(ctx, store, 1)
		if err != nil {
			t.Error(err)
			return err
		}
		lost := jobs.Finish{Run: left[0].Run, Owner: id.Session, Keep: 10, Next: &jobs.InFlight{
			Owner: "other", Run: jobs.Run{ID: "again", Job: id.Job},
		}}
		lost.Run.Outcome = jobs.OutcomeLost
		finishes := []jobs.Finish{lost}
		for i, job := range []string{id.Job, "j", "k"} {
			run := jobs.Run{ID: fmt.Sprint(job, "@", i), Job: job}
			c := jobs.Claim{Job: job, Manual: true, Lease: time.Minute, InFlight: &jobs.InFlight{Owner: "dead", Run: run}}
			if got := store.Claim(ctx, []jobs.Claim{c})[0]; got.Status != jobs.ClaimWon {
				t.Errorf("%+v", got)
			}
			run.Outcome = jobs.OutcomeLost
			finishes = append(finishes, jobs.Finish{Run: run, Owner: "dead", Keep: 10})
		}
		for i, err := range store.Finish(ctx, finishes) {
			if i == 0 && !errors.Is(err, jobs.ErrLocked) || i > 0 && err != nil {
				t.Errorf("run %d beside the open transaction: %v", i, err)
			}
		}
		if err := store.Finish(ctx, finishes[:1])[0]; !errors.Is(err, jobs.ErrLocked) {
			t.Errorf("the run alone: %v, want ErrLocked", err)
		}
		if err := tx.Commit(); err != nil {
			t.Error(err)
		}
		if err := store.Finish(ctx, finishes[:1])[0]; !errors.Is(err, jobs.ErrCompleted) {
			t.Errorf("the other node: %v, want ErrCompleted", err)
		}
		return nil
	})
	if e.effects(t) != 1 || !slices.ContainsFunc(runs, func(r jobs.Run) bool { return r.Outcome == jobs.OutcomeOK }) {
		t.Errorf("%+v", runs)
	}
	e.exec(t, "DELETE FROM effect")
	store = e.store()
	e.only(t, store, 1, func(ctx context.Context, _ string) error {
		id, _ := jobs.RunFromContext(ctx)
		left, _ := store.InFlight(ctx)
		lost := jobs.Finish{Run: left[0].Run, Owner: id.Session, Keep: 10}
		lost.Run.Outcome = jobs.OutcomeLost
		if err := store.Finish(ctx, []jobs.Finish{lost})[0]; err != nil {
			t.Error(err)
		}
		tx, err := e.complete(ctx, store, 1)
		if !errors.Is(err, jobs.ErrGone) {
			t.Errorf("after another node has taken it over: %v, want ErrGone", err)
		}
		return tx.Rollback()
	})
	if n := e.effects(t); n != 0 {
		t.Errorf("the work of a dead node was committed %d times", n)
	}
}

// shop is the handler of orders, which complete themselves.
const shop = "shop"

// order is work that is done once however often it is tried: it takes a while before and after its commit.
func order(ctx context.Context, db *sql.DB, store *sqlstore.Store, id string) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() // after the commit it does nothing
	if err := store.CompleteTx(ctx, tx); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, "INSERT INTO effect VALUES ('"+id+"')"); err != nil {
		return err
	}
	time.Sleep(20 * time.Millisecond)
	if err := tx.Commit(); err != nil {
		return err
	}
	fmt.Println(id)
	time.Sleep(runTime)
	return errAfterCommit
}

var errAfterCommit = errors.New("an error that comes too late")

// TestStore_CompleteTx_processes kills processes whose work was just committed, and stops one in its work for longer than
// its session lasts: everything is done, and nothing twice, although all is tried again. Where the stop comes inside a
// transaction that nobody ends, the others go on when that process does; see the package's comment.
func TestStore_CompleteTx_processes(t *testing.T) {
	engines(t, func(t *testing.T, e *engine) {
		e.exec(t, "CREATE TABLE effect (id varchar(100))")
		p, store := newProcesses(t, e), sqlstore.New(e.db, sqlstore.Config{})
		if e.name == "mariadb" {
			p.url += testenv.MariaDBParams("?idle_transaction_timeout=5")
		}
		for range 3 {
			p.start()
		}
		const orders = 40
		for i := range orders {
			o := jobs.OneOff{ID: fmt.Sprint("order-", i), Handler: shop, At: time.Now().Add(time.Duration(i) * 200 * time.Millisecond)}
			if err := store.Put(t.Context(), o); err != nil {
				t.Fatal(err)
			}
		}
		next := func() begun {
			for {
				if b := p.next(); strings.HasPrefix(b.what, "order-") {
					return b
				}
			}
		}
		p.kill(next().node) // just after a commit
		p.start()
		stopped := next().node
		p.signal(stopped, syscall.SIGSTOP)
		over := time.Now().Add(time.Minute)
		for n := 0; n < 5 && time.Now().Before(over); {
			select {
			case b := <-p.begins:
				if strings.HasPrefix(b.what, "order-") {
					n++
				}
			case <-time.After(time.Until(over)):
			}
		}
		p.signal(stopped, syscall.SIGCONT)
		killed := next().node
		p.kill(killed)
		p.start()
		testsync.Eventually(t, "all orders are recorded", func() bool {
			time.Sleep(100 * time.Millisecond)
			waiting, err := store.Waiting(t.Context(), 1000)
			left, err2 := store.InFlight(t.Context())
			for _, run := range left {
				if run.Run.OneOff != "" {
					return false
				}
			}
			return err == nil && err2 == nil && len(waiting) == 0
		})
		p.stop()
		rows, err := e.db.Query("SELECT id, count(*) FROM effect GROUP BY id HAVING count(*) > 1")
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		for rows.Next() {
			var id string
			var n int
			_ = rows.Scan(&id, &n)
			t.Errorf("%s was done %d times", id, n)
		}
		if n := e.effects(t); n != orders {
			t.Errorf("%d of %d orders were done", n, orders)
		}
		runs, err := store.Runs(t.Context(), []string{"one-off:" + shop}, 1000)
		if err != nil {
			t.Fatal(err)
		}
		ended := map[jobs.Outcome]int{}
		for _, r := range runs[0] {
			ended[r.Outcome]++
			if r.Outcome != jobs.OutcomeOK && strings.Contains(r.Error, errAfterCommit.Error()) {
				t.Errorf("%s is recorded with %q, and it was complete", r.OneOff, r.Error)
			}
		}
		if ended[jobs.OutcomeOK] != orders {
			t.Errorf("the runs ended as %v, want %d successes", ended, orders)
		}
		t.Logf("%d runs: %v", len(runs[0]), ended)
	})
}

func TestStore_CompleteTx_pgx(t *testing.T) {
	t.Parallel()
	e := postgres(t)
	e.exec(t, "CREATE TABLE effect (id varchar(100))")
	store := e.store()
	conn, err := pgx.Connect(t.Context(), e.url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	runs := e.only(t, store, 1, func(ctx context.Context, _ string) error {
		tx, err := conn.Begin(ctx)
		if err != nil {
			return err
		}
		return errors.Join(store.CompleteTx(ctx, sqlstore.PgxTx(tx)), tx.Commit(ctx), fmt.Errorf("after that"))
	})
	if runs[0].Outcome != jobs.OutcomeOK {
		t.Errorf("%+v", runs)
	}
}
