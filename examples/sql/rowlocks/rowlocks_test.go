package rowlocks

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"testing"
	"time"

	_ "github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/lockgen/lockgen/internal/testenv"
	"github.com/lockgen/lockgen/internal/testsync"
	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/sqlstore"
)

var options = lockrt.Options{TTL: 2 * time.Second, Wait: testsync.Patience}

// stock is a database with one item, and two processes that sell it.
func stock(t *testing.T, driver, dsn string) (db *sql.DB, a, b *lockrt.Locker) {
	t.Helper()
	db, err := sql.Open(driver, dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	for _, text := range []string{"CREATE TABLE stock (item int PRIMARY KEY, remaining int)", "INSERT INTO stock VALUES (7, 1)"} {
		if _, err := db.ExecContext(t.Context(), text); err != nil {
			t.Fatal(err)
		}
	}
	if err := sqlstore.CreateTables(t.Context(), db, sqlstore.Config{}); err != nil {
		t.Fatal(err)
	}
	var lockers [2]*lockrt.Locker
	for i := range lockers {
		lockers[i], err = lockrt.New(sqlstore.New(db, sqlstore.Config{}), lockrt.Config{Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = lockers[i].Close(context.Background()) })
	}
	return db, lockers[0], lockers[1]
}

// sell is the safe one: the lock is held until the transaction is committed.
func sell(ctx context.Context, locks *lockrt.Locker, db *sql.DB, between func()) (sold bool, err error) {
	err = sqlstore.DoTx(ctx, locks, "stock:7", options, db, func(ctx context.Context, tx *sql.Tx, _ *lockrt.Lease) error {
		var left int
		if err := tx.QueryRowContext(ctx, "SELECT remaining FROM stock WHERE item = 7").Scan(&left); err != nil || left == 0 {
			return err
		}
		between()
		sold = true
		return setStock(ctx, tx, left-1)
	})
	return sold && err == nil, err
}

func TestForUpdate_withoutTransaction(t *testing.T) {
	db, a, b := stock(t, "pgx", testenv.Postgres(t).URL())
	t.Run("by hand", func(t *testing.T) {
		first, err := readForUpdate(t.Context(), db)
		second, err2 := readForUpdate(t.Context(), db) // does not wait for the first, who has not sold yet
		if err := errors.Join(err, err2); err != nil || first != 1 || second != 1 {
			t.Errorf("read %d and %d, %v: the recipe has become safe", first, second, err)
		}
	})
	t.Run("safely", func(t *testing.T) {
		other := make(chan bool, 1)
		sold, err := sell(t.Context(), a, db, func() {
			go func() {
				sold, err := sell(t.Context(), b, db, func() {})
				if err != nil {
					t.Error(err)
				}
				other <- sold
			}()
			testsync.Eventually(t, "the other waits", func() bool {
				info, err := a.Holder(t.Context(), "stock:7")
				return err == nil && len(info.Waiters) > 0
			})
		})
		if again := <-other; err != nil || !sold || again {
			t.Errorf("sold %v and %v, %v", sold, again, err)
		}
	})
}

// A client stops between its SELECT … FOR UPDATE and its COMMIT, and its connection stays open.
func TestForUpdate_frozenClient(t *testing.T) {
	db, a, b := stock(t, "pgx", testenv.Postgres(t).URL())
	t.Run("by hand", func(t *testing.T) {
		frozen, err := db.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := readForUpdate(t.Context(), frozen); err != nil {
			t.Fatal(err)
		}
		// Nothing more is heard of it. Nobody gets the row, however long they wait.
		ctx, cancel := context.WithTimeout(t.Context(), options.TTL)
		defer cancel()
		if _, err := readForUpdate(ctx, db); ctx.Err() == nil {
			t.Errorf("the row is free (%v): the recipe has become safe", err)
		}
		if err := frozen.Rollback(); err != nil {
			t.Error(err)
		}
	})
	t.Run("safely", func(t *testing.T) {
		lease, err := a.Acquire(t.Context(), "stock:7", lockrt.Options{TTL: options.TTL, NoRenew: true})
		if err != nil {
			t.Fatal(err)
		}
		frozen, err := db.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := sqlstore.Guard(t.Context(), frozen, lease); err != nil {
			t.Fatal(err)
		}
		// The guard has bounded how long the server waits for a client that says nothing.
		if sold, err := sell(t.Context(), b, db, func() {}); err != nil || !sold {
			t.Errorf("sold %v, %v", sold, err)
		}
		if err := frozen.Commit(); err == nil {
			t.Error("the transaction of a client that had stopped is committed")
		}
	})
}

func TestGetLock_throughAPool(t *testing.T) {
	db, a, b := stock(t, "mysql", testenv.MariaDB(t).DSN())
	t.Run("by hand", func(t *testing.T) {
		if got, err := getLock(t.Context(), db); err != nil || !got {
			t.Fatal(got, err)
		}
		// Other work has the connection while the lock is released.
		busy, err := db.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if released, err := releaseLock(t.Context(), db); err != nil || released.Bool {
			t.Errorf("released %v, %v: the recipe has become safe", released, err)
		}
		if got, err := getLock(t.Context(), db); err != nil || got {
			t.Errorf("got it again %v, %v: the recipe has become safe", got, err)
		}
		if err := busy.Close(); err != nil {
			t.Error(err)
		}
	})
	t.Run("safely", func(t *testing.T) {
		for _, l := range []*lockrt.Locker{a, b, a} {
			lease, err := l.Acquire(t.Context(), "stock:7", options)
			if err != nil {
				t.Fatal(err)
			}
			if err := lease.Release(t.Context()); err != nil {
				t.Error(err)
			}
		}
	})
}
