package sqltest

import (
	"context"
	"database/sql"
	"errors"
	"testing"

	"github.com/lockgen/lockgen/internal/testsync"
	"github.com/lockgen/lockgen/jobs"
)

// endByItself has the database end a transaction by itself, and returns the error of the statement with which it did.
func (e *engine) endByItself(t *testing.T, tx *sql.Tx) error {
	t.Helper()
	must := func(_ sql.Result, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	if e.name == "sqlite" {
		must(tx.Exec("INSERT INTO stock VALUES (7, 0)"))
		_, err := tx.Exec("INSERT OR ROLLBACK INTO stock VALUES (7, 0)")
		return err
	}
	other := begin(t, e) // which writes more, so that it is not the victim of the deadlock
	defer other.Rollback()
	must(other.Exec("INSERT INTO stock WITH RECURSIVE s (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < 500) SELECT 100 + n, 0 FROM s"))
	must(other.Exec("UPDATE stock SET n = n + 1 WHERE id = 2"))
	must(tx.Exec("UPDATE stock SET n = n - 1 WHERE id = 1"))
	met := make(chan error, 1)
	go func() {
		_, err := other.Exec("UPDATE stock SET n = n + 1 WHERE id = 1")
		met <- err
	}()
	testsync.Eventually(t, "the other transaction waits", func() bool { return e.waitForRows(t) > 0 })
	_, err := tx.Exec("UPDATE stock SET n = n - 1 WHERE id = 2")
	must(nil, <-met)
	return err
}

// The database has ended a transaction by itself: what comes then is refused, and would be committed at once otherwise.
func TestStore_transactionThatIsOver(t *testing.T) {
	engines(t, func(t *testing.T, e *engine) {
		if e.name == "postgres" {
			t.Skip("it refuses all statements of a transaction that has failed")
		}
		e.exec(t, "CREATE TABLE stock (id int PRIMARY KEY, n int)")
		e.exec(t, "INSERT INTO stock VALUES (1, 0), (2, 0)")
		store := e.store()
		if err := store.Put(t.Context(), letter("first")); err != nil {
			t.Fatal(err)
		}
		tx := begin(t, e)
		if e.endByItself(t, tx) == nil {
			t.Fatal("there is no error that ends a transaction")
		}
		wants(t, store.PutTx(t.Context(), tx, letter("b")), "no transaction is open")
		_ = tx.Rollback()
		if got := waiting(t, store); got != "first" {
			t.Errorf("%q wait, want the first alone", got)
		}
		e.exec(t, "CREATE TABLE effect (id varchar(100))")
		e.exec(t, "DELETE FROM stock WHERE id > 2")
		try, complete := 0, e.store()
		runs := e.only(t, complete, 1, func(ctx context.Context, _ string) error {
			try++
			tx, err := e.db.BeginTx(ctx, nil)
			if err != nil {
				return err
			}
			defer tx.Rollback()
			if _, err := tx.ExecContext(ctx, "INSERT INTO effect VALUES ('a')"); err != nil {
				return err
			}
			if try == 1 {
				err = e.endByItself(t, tx)
			}
			if err := errors.Join(err, complete.CompleteTx(ctx, tx)); err != nil {
				return err
			}
			return tx.Commit()
		})
		if first := runs[len(runs)-1]; first.Outcome != jobs.OutcomeError {
			t.Errorf("%+v, want a first try that has failed, with %d effects", runs, e.effects(t))
		}
	})
}
