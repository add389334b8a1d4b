package sqltest

import (
	"context"
	"database/sql"
	"errors"
	"math"
	"net/url"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/lockgen/lockgen/internal/testenv"
	"github.com/lockgen/lockgen/internal/testsync"
	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/fence"
	"github.com/lockgen/lockgen/runtime/memstore"
	"github.com/lockgen/lockgen/runtime/sqlstore"
)

// What is to hold whatever the guard is.
func TestDoTx(t *testing.T) {
	engines(t, func(t *testing.T, e *engine) {
		if e.name == "sqlite" {
			locks := *e // in a file of their own
			locks.db = openSQLite(t, "sqlite:"+t.TempDir()+"/own.db")
			runDoTx(t, e, &locks)
			return
		}
		runDoTx(t, e, e)
	})
}

func runDoTx(t *testing.T, e, locks *engine) {
	e.exec(t, "CREATE TABLE data (n int)")
	if e.name == "mariadb" {
		if err := fence.CreateTable(t.Context(), e.db, fence.MySQL); err != nil {
			t.Fatal(err)
		}
	}
	for name, test := range map[string]func(*testing.T, *engine, *engine){
		"commits under the lock":          txCommits,
		"an error of the work":            txFails,
		"a panic":                         txPanics,
		"Goexit":                          txExits,
		"the context ends in the work":    txContextEnds,
		"the transaction is over":         txEndedByWork,
		"the lease is lost before":        txLostBefore,
		"several keys":                    txSeveral,
		"the connection breaks":           txCut,
		"no function, no pool, no locker": txNothing,
	} {
		t.Run(name, func(t *testing.T) {
			e.exec(t, "DELETE FROM data")
			test(t, e, locks)
		})
	}
}

// insert is work that writes one row.
func insert(ctx context.Context, tx *sql.Tx, _ *lockrt.Lease) error {
	_, err := tx.ExecContext(ctx, "INSERT INTO data VALUES (1)")
	return err
}

// wrote checks how many rows are there, and that the lock is free.
func (e *engine) wrote(t *testing.T, locks *engine, rows int) {
	t.Helper()
	var n int
	if err := e.db.QueryRowContext(t.Context(), "SELECT count(*) FROM data").Scan(&n); err != nil || n != rows {
		t.Errorf("%d rows are written, want %d (%v)", n, rows, err)
	}
	lease, err := locks.locker(t, "next").Acquire(t.Context(), "k", lockrt.Options{TTL: long, Wait: testsync.Patience})
	if err != nil {
		t.Errorf("the lock is not free: %v", err)
	} else if err := lease.Release(t.Context()); err != nil {
		t.Error(err)
	}
}

func txCommits(t *testing.T, e, locks *engine) {
	a, b := locks.locker(t, "a"), locks.locker(t, "b")
	err := sqlstore.DoTx(t.Context(), a, "k", lockrt.Options{TTL: long}, e.db, func(ctx context.Context, tx *sql.Tx, lease *lockrt.Lease) error {
		if lockrt.FromContext(ctx) != lease || lease.Key() != "k" {
			t.Error("the context is not that of the lease")
		}
		if _, err := b.TryAcquire(ctx, "k", lockrt.Options{TTL: long}); !errors.Is(err, lockrt.ErrBusy) {
			t.Errorf("the lock in the meantime: %v", err)
		}
		return insert(ctx, tx, lease)
	})
	if err != nil {
		t.Error(err)
	}
	e.wrote(t, locks, 1)
}

func txFails(t *testing.T, e, locks *engine) {
	work := errors.New("no stock")
	err := sqlstore.DoTx(t.Context(), locks.locker(t, "a"), "k", lockrt.Options{TTL: long}, e.db,
		func(ctx context.Context, tx *sql.Tx, lease *lockrt.Lease) error {
			return errors.Join(insert(ctx, tx, lease), work)
		})
	if !errors.Is(err, work) || errors.Is(err, sqlstore.ErrUnsure) {
		t.Errorf("the error is %v", err)
	}
	e.wrote(t, locks, 0)
}

func txPanics(t *testing.T, e, locks *engine) {
	defer func() {
		if p := recover(); p != "at the disco" {
			t.Errorf("recovered %v", p)
		}
		e.wrote(t, locks, 0)
	}()
	_ = sqlstore.DoTx(t.Context(), locks.locker(t, "a"), "k", lockrt.Options{TTL: long}, e.db,
		func(ctx context.Context, tx *sql.Tx, lease *lockrt.Lease) error {
			if err := insert(ctx, tx, lease); err != nil {
				t.Error(err)
			}
			panic("at the disco")
		})
}

func txExits(t *testing.T, e, locks *engine) {
	a, gone := locks.locker(t, "a"), make(chan struct{})
	go func() {
		defer close(gone)
		_ = sqlstore.DoTx(t.Context(), a, "k", lockrt.Options{TTL: long}, e.db,
			func(ctx context.Context, tx *sql.Tx, lease *lockrt.Lease) error {
				if err := insert(ctx, tx, lease); err != nil {
					t.Error(err)
				}
				runtime.Goexit()
				return nil
			})
		t.Error("DoTx returned")
	}()
	<-gone
	e.wrote(t, locks, 0)
}

// The context ends, and the work does not care.
func txContextEnds(t *testing.T, e, locks *engine) {
	why := errors.New("the user has gone")
	ctx, cancel := context.WithCancelCause(t.Context())
	err := sqlstore.DoTx(ctx, locks.locker(t, "a"), "k", lockrt.Options{TTL: long}, e.db,
		func(ctx context.Context, tx *sql.Tx, lease *lockrt.Lease) error {
			if err := insert(ctx, tx, lease); err != nil {
				t.Error(err)
			}
			cancel(why)
			<-ctx.Done()
			return nil
		})
	if !errors.Is(err, context.Canceled) || !errors.Is(err, why) || errors.Is(err, sqlstore.ErrUnsure) {
		t.Errorf("the error is %v", err)
	}
	e.wrote(t, locks, 0)
}

func txEndedByWork(t *testing.T, e, locks *engine) {
	work := errors.New("no stock")
	for i, end := range []func(*sql.Tx) error{ // which of them it was only it knows
		(*sql.Tx).Rollback, (*sql.Tx).Commit, func(tx *sql.Tx) error { return errors.Join(tx.Commit(), work) },
	} {
		err := sqlstore.DoTx(t.Context(), locks.locker(t, "a"), "k", lockrt.Options{TTL: long}, e.db,
			func(ctx context.Context, tx *sql.Tx, lease *lockrt.Lease) error {
				return errors.Join(insert(ctx, tx, lease), end(tx))
			})
		if !errors.Is(err, sql.ErrTxDone) || !errors.Is(err, sqlstore.ErrUnsure) {
			t.Errorf("the error is %v", err)
		}
		e.wrote(t, locks, i)
	}
}

// A result that the function has not closed does not matter, and a context that ends in it is the error.
func TestDoTx_resultAndContextOfTheWork(t *testing.T) {
	engines(t, func(t *testing.T, e *engine) {
		e.exec(t, "CREATE TABLE data (n int)")
		e.exec(t, "INSERT INTO data VALUES (1), (2), (3)")
		if err := fence.CreateTable(t.Context(), e.db, fence.Dialect("")); err != nil {
			t.Fatal(err)
		}
		l := elsewhere(t)
		err := sqlstore.DoTx(t.Context(), l, "k", lockrt.Options{TTL: long}, e.db,
			func(ctx context.Context, tx *sql.Tx, lease *lockrt.Lease) error {
				if err := insert(ctx, tx, lease); err != nil {
					return err
				}
				rows, err := tx.QueryContext(ctx, "SELECT n FROM data")
				if err == nil {
					rows.Next()
				}
				return err
			})
		if err != nil {
			t.Errorf("with a result that is open: %v", err)
		}
		gone := errors.New("the client has gone")
		ctx, cancel := context.WithCancelCause(t.Context())
		err = sqlstore.DoTx(ctx, l, "k", lockrt.Options{TTL: long}, e.db,
			func(ctx context.Context, tx *sql.Tx, lease *lockrt.Lease) error {
				err := insert(ctx, tx, lease)
				cancel(gone)
				return err
			})
		if !errors.Is(err, context.Canceled) || !errors.Is(err, gone) || errors.Is(err, sqlstore.ErrUnsure) {
			t.Errorf("with a context that has ended: %v", err)
		}
		e.wrote(t, e, 4)
	})
}

// A server that is silent when the function has returned holds up nobody for longer than documented.
func TestDoTx_silentBeforeTheCommit(t *testing.T) {
	engines(t, func(t *testing.T, e *engine) {
		e.exec(t, "CREATE TABLE data (n int)")
		if err := fence.CreateTable(t.Context(), e.db, fence.Dialect("")); err != nil {
			t.Fatal(err)
		}
		db, p := e.through(t)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		err := sqlstore.DoTx(ctx, elsewhere(t), "k", lockrt.Options{TTL: long}, db,
			func(ctx context.Context, tx *sql.Tx, lease *lockrt.Lease) error {
				err := insert(ctx, tx, lease)
				p.Silence()
				time.AfterFunc(100*time.Millisecond, cancel)
				return err
			})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("the error is %v", err)
		}
		p.Resume()
	})
}

// slowBegin begins transactions when something has happened.
type slowBegin struct {
	db     *sql.DB
	before func()
}

func (s slowBegin) BeginTx(ctx context.Context, opts *sql.TxOptions) (*sql.Tx, error) {
	s.before()
	return s.db.BeginTx(context.WithoutCancel(ctx), opts)
}

// Somebody else gets the lock, and has been there, before the transaction is guarded.
func txLostBefore(t *testing.T, e, locks *engine) {
	a, b := locks.locker(t, "a"), locks.locker(t, "b")
	err := sqlstore.DoTx(t.Context(), a, "k", lockrt.Options{TTL: 500 * time.Millisecond, NoRenew: true}, slowBegin{e.db, func() {
		err := sqlstore.DoTx(t.Context(), b, "k", lockrt.Options{TTL: long, Wait: testsync.Patience}, e.db, insert)
		if err != nil {
			t.Error(err)
		}
	}}, func(context.Context, *sql.Tx, *lockrt.Lease) error {
		t.Error("the work runs")
		return nil
	})
	if !errors.Is(err, lockrt.ErrLost) {
		t.Errorf("the error is %v, want ErrLost", err)
	}
	e.wrote(t, locks, 1)
}

func txSeveral(t *testing.T, e, locks *engine) {
	a, b := locks.locker(t, "a"), locks.locker(t, "b")
	err := sqlstore.DoAllTx(t.Context(), a, []string{"z", "k"}, lockrt.Options{TTL: long}, e.db,
		func(ctx context.Context, tx *sql.Tx, leases lockrt.Leases) error {
			for _, key := range []string{"k", "z"} {
				if _, err := b.TryAcquire(ctx, key, lockrt.Options{TTL: long}); !errors.Is(err, lockrt.ErrBusy) {
					t.Errorf("the lock on %s in the meantime: %v", key, err)
				}
			}
			return insert(ctx, tx, leases.Lease("k"))
		})
	if err != nil {
		t.Error(err)
	}
	e.wrote(t, locks, 1)
}

// through returns a pool behind a proxy.
func (e *engine) through(t *testing.T) (*sql.DB, *testenv.Proxy) {
	t.Helper()
	switch e.name {
	case "postgres":
		u, err := url.Parse(e.url)
		if err != nil {
			t.Fatal(err)
		}
		p := testenv.NewProxy(t, u.Host)
		return openDB(t, "pgx", strings.Replace(e.url, u.Host, p.Addr(), 1)), p
	case "mariadb":
		host := strings.SplitN(strings.SplitN(e.url, "@", 2)[1], "/", 2)[0]
		p := testenv.NewProxy(t, host)
		return openDB(t, "mysql", mysqlDSN(strings.Replace(e.url, host, p.Addr(), 1))), p
	}
	t.Skip("there is no network")
	return nil, nil
}

// A commit whose answer is lost may have happened, and the error says so; the lock comes free all the same. A
// connection that breaks before the commit is no such thing.
func txCut(t *testing.T, e, locks *engine) {
	db, p := e.through(t)
	a := locks.locker(t, "a")
	err := sqlstore.DoTx(t.Context(), a, "k", lockrt.Options{TTL: long}, db,
		func(ctx context.Context, tx *sql.Tx, lease *lockrt.Lease) error {
			p.Cut()
			return insert(ctx, tx, lease)
		})
	if err == nil || errors.Is(err, sqlstore.ErrUnsure) || errors.Is(err, lockrt.ErrLost) {
		t.Errorf("cut in the work: %v", err)
	}
	e.wrote(t, locks, 0)
	err = sqlstore.DoTx(t.Context(), a, "k", lockrt.Options{TTL: long}, db,
		func(ctx context.Context, tx *sql.Tx, lease *lockrt.Lease) error {
			p.On("commit", p.Cut)
			return insert(ctx, tx, lease)
		})
	if !errors.Is(err, sqlstore.ErrUnsure) || errors.Is(err, lockrt.ErrLost) {
		t.Errorf("cut in the commit: %v, want ErrUnsure", err)
	}
	e.wrote(t, locks, 0)
	err = sqlstore.DoTx(t.Context(), a, "k", lockrt.Options{TTL: long}, db,
		func(ctx context.Context, tx *sql.Tx, lease *lockrt.Lease) error {
			p.On("commit", func() {
				p.Swallow() // the commit is done, and its answer does not come
				time.AfterFunc(300*time.Millisecond, p.Cut)
			})
			return insert(ctx, tx, lease)
		})
	if !errors.Is(err, sqlstore.ErrUnsure) {
		t.Errorf("the answer to the commit is lost: %v, want ErrUnsure", err)
	}
	e.wrote(t, locks, 1)
}

func txNothing(t *testing.T, e, locks *engine) {
	a := locks.locker(t, "a")
	var none *sql.DB
	for name, err := range map[string]error{
		"no function": sqlstore.DoTx(t.Context(), a, "k", lockrt.Options{TTL: long}, e.db, nil),
		"no pool":     sqlstore.DoTx(t.Context(), a, "k", lockrt.Options{TTL: long}, none, insert),
		"no DB":       sqlstore.DoTx(t.Context(), a, "k", lockrt.Options{TTL: long}, nil, insert),
		"a nil conn":  sqlstore.DoTx(t.Context(), a, "k", lockrt.Options{TTL: long}, (*sql.Conn)(nil), insert),
		"no TTL":      sqlstore.DoTx(t.Context(), a, "k", lockrt.Options{}, e.db, insert),
		"no locker":   sqlstore.DoTx(t.Context(), nil, "k", lockrt.Options{TTL: long}, e.db, insert),
	} {
		if err == nil {
			t.Errorf("%s: there is no error", name)
		}
	}
	e.wrote(t, locks, 0)
}

// What only the rows of PostgreSQL can do.
func TestDoTx_postgres(t *testing.T) {
	t.Parallel()
	e := postgres(t)
	e.exec(t, "CREATE TABLE data (n int UNIQUE DEFERRABLE INITIALLY DEFERRED)")
	for name, test := range map[string]func(*testing.T, *engine){
		"past the end of the lease":       txPastTheLease,
		"a break meanwhile":               txBroken,
		"the commit fails":                txCommitFails,
		"an error is passed over":         txPassedOver,
		"another pool":                    txOtherPool,
		"another search_path":             txOtherPath,
		"another database":                txOtherDatabase,
		"locks elsewhere, a stale holder": txStale,
		"nested with locks elsewhere":     txNested,
	} {
		t.Run(name, func(t *testing.T) {
			e.exec(t, "DELETE FROM data")
			test(t, e)
		})
	}
}

// overtime is work that goes on after its lease is over, and a waiter that must not get the lock before the commit.
func (e *engine) overtime(t *testing.T, ends func(*lockrt.Lease)) {
	a, b := e.locker(t, "a"), e.locker(t, "b")
	next := make(chan error, 1)
	err := sqlstore.DoTx(t.Context(), a, "k", lockrt.Options{TTL: 2 * time.Second, NoRenew: true}, e.db,
		func(ctx context.Context, tx *sql.Tx, lease *lockrt.Lease) error {
			go func() {
				lease, err := b.Acquire(t.Context(), "k", lockrt.Options{TTL: long, Wait: testsync.Patience})
				next <- errors.Join(err, lease.Release(t.Context()))
			}()
			ends(lease)
			<-ctx.Done()
			select {
			case err := <-next:
				next <- err
				t.Errorf("somebody else got the lock before the commit (%v)", err)
			case <-time.After(700 * time.Millisecond):
			}
			return insert(context.WithoutCancel(ctx), tx, lease)
		})
	if err != nil {
		t.Errorf("what was committed under the lock: %v", err)
	}
	if err := <-next; err != nil {
		t.Error(err)
	}
	e.wrote(t, e, 1)
}

func txPastTheLease(t *testing.T, e *engine) { e.overtime(t, func(*lockrt.Lease) {}) }

func txBroken(t *testing.T, e *engine) {
	c := e.locker(t, "c")
	e.overtime(t, func(*lockrt.Lease) {
		if err := c.Break(t.Context(), "k", "test"); err != nil {
			t.Error(err)
		}
	})
}

func txCommitFails(t *testing.T, e *engine) {
	err := sqlstore.DoTx(t.Context(), e.locker(t, "a"), "k", lockrt.Options{TTL: long}, e.db,
		func(ctx context.Context, tx *sql.Tx, lease *lockrt.Lease) error {
			return errors.Join(insert(ctx, tx, lease), insert(ctx, tx, lease)) // found out at the commit
		})
	if err == nil || errors.Is(err, sqlstore.ErrUnsure) || !strings.Contains(err.Error(), "23505") {
		t.Errorf("the error is %v", err)
	}
	e.wrote(t, e, 0)
}

func txPassedOver(t *testing.T, e *engine) {
	for _, driver := range []string{"pgx", "postgres"} {
		err := sqlstore.DoTx(t.Context(), e.locker(t, "a"), "k", lockrt.Options{TTL: long}, openDB(t, driver, e.url),
			func(ctx context.Context, tx *sql.Tx, lease *lockrt.Lease) error {
				err := insert(ctx, tx, lease)
				_, _ = tx.ExecContext(ctx, "nonsense")
				return err
			})
		if err == nil || errors.Is(err, sqlstore.ErrUnsure) {
			t.Errorf("%s: the error is %v", driver, err)
		}
		e.wrote(t, e, 0)
	}
}

// hasMarks reports whether the table of fences is there: then one was used.
func (e *engine) hasMarks(t *testing.T) (there bool) {
	t.Helper()
	if err := e.db.QueryRow("SELECT to_regclass('lockgen_fence') IS NOT NULL").Scan(&there); err != nil {
		t.Fatal(err)
	}
	return there
}

func txOtherPool(t *testing.T, e *engine) {
	e.exec(t, "DROP TABLE IF EXISTS lockgen_fence")
	other := openDB(t, "postgres", e.url)
	conn, err := e.db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	a := e.locker(t, "a")
	for i, db := range []sqlstore.Beginner{other, other, conn} {
		err := sqlstore.DoTx(t.Context(), a, "k", lockrt.Options{TTL: long}, db, func(ctx context.Context, tx *sql.Tx, _ *lockrt.Lease) error {
			_, err := tx.ExecContext(ctx, "INSERT INTO data VALUES ($1)", i)
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
	e.wrote(t, e, 3)
	if e.hasMarks(t) {
		t.Error("a fence was used in the database of the locks")
	}
}

func txOtherPath(t *testing.T, e *engine) {
	e.exec(t, "CREATE SCHEMA IF NOT EXISTS elsewhere")
	other := openDB(t, "pgx", e.url+"&search_path=elsewhere")
	err := sqlstore.DoTx(t.Context(), e.locker(t, "a"), "k", lockrt.Options{TTL: long}, other, insert)
	wants(t, err, "search_path", "sqlstore.Config.Table")
	e.wrote(t, e, 0)
}

func txOtherDatabase(t *testing.T, e *engine) {
	other := openDB(t, "pgx", e.another(t))
	if _, err := other.Exec("CREATE TABLE data (n int)"); err != nil {
		t.Fatal(err)
	}
	far := &engine{name: "postgres", db: other}
	if err := sqlstore.DoTx(t.Context(), e.locker(t, "a"), "k", lockrt.Options{TTL: long}, other, insert); err != nil {
		t.Error(err)
	}
	far.wrote(t, e, 1)
	if !far.hasMarks(t) {
		t.Error("no fence was used in a database without the locks")
	}
}

func elsewhere(t *testing.T) *lockrt.Locker {
	l, err := lockrt.New(memstore.New(), lockrt.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close(context.Background()) })
	return l
}

// A later holder has been there before the guard; or comes in the work, and then the transaction is not committed.
func txStale(t *testing.T, e *engine) {
	l := elsewhere(t)
	err := sqlstore.DoTx(t.Context(), l, "k", lockrt.Options{TTL: long}, slowBegin{e.db, func() {
		tx := e.begin(t, sql.LevelDefault)
		if err := errors.Join(fence.Guard(t.Context(), tx, "k", math.MaxInt64), tx.Commit()); err != nil {
			t.Error(err)
		}
	}}, insert)
	if !errors.Is(err, fence.ErrStale) {
		t.Errorf("the error is %v, want ErrStale", err)
	}
	e.wrote(t, e, 0)
	err = sqlstore.DoTx(t.Context(), l, "other", lockrt.Options{TTL: 100 * time.Millisecond, NoRenew: true}, e.db,
		func(ctx context.Context, tx *sql.Tx, lease *lockrt.Lease) error {
			err := insert(ctx, tx, lease)
			<-lease.Done()
			return err
		})
	if !errors.Is(err, lockrt.ErrLost) || errors.Is(err, sqlstore.ErrUnsure) {
		t.Errorf("the error is %v, want ErrLost", err)
	}
	e.wrote(t, e, 0)
}

func txNested(t *testing.T, e *engine) {
	l, o := elsewhere(t), lockrt.Options{TTL: long, Reentrant: true}
	err := sqlstore.DoTx(t.Context(), l, "k2", o, e.db, func(ctx context.Context, _ *sql.Tx, _ *lockrt.Lease) error {
		return sqlstore.DoTx(ctx, l, "k2", o, e.db, insert)
	})
	if !errors.Is(err, lockrt.ErrNested) {
		t.Errorf("the error is %v, want ErrNested", err)
	}
	e.wrote(t, e, 0)
}
