package sqltest

import (
	"context"
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/lockgen/lockgen/jobs"
	"github.com/lockgen/lockgen/jobs/sqlstore"
	lockrt "github.com/lockgen/lockgen/runtime"
)

// MySQL and SQLite end a transaction by themselves, as after a deadlock, and commit each further statement by itself.
func TestStore_PutTx_endedByTheServer(t *testing.T) {
	engines(t, func(t *testing.T, e *engine) {
		if e.name == "postgres" {
			t.Skip("PostgreSQL does nothing more in a transaction that has failed")
		}
		store := e.store()
		if err := store.Put(t.Context(), letter("first")); err != nil {
			t.Fatal(err)
		}
		tx := begin(t, e)
		if _, err := tx.Exec("ROLLBACK"); err != nil {
			t.Fatal(err)
		}
		if err := store.PutTx(t.Context(), tx, letter("a")); !errors.Is(err, lockrt.ErrOptions) {
			t.Errorf("the error is %v", err)
		}
		_ = tx.Rollback()
		if got := waiting(t, store); got != "first" {
			t.Errorf("%q wait although the transaction was rolled back", got)
		}
	})
}

func TestStore_CompleteTx_endedByTheServer(t *testing.T) {
	engines(t, func(t *testing.T, e *engine) {
		if e.name == "postgres" {
			t.Skip("PostgreSQL does nothing more in a transaction that has failed")
		}
		e.exec(t, "CREATE TABLE effect (id varchar(100))")
		store, tries := e.store(), 0
		runs := e.only(t, store, 2, func(ctx context.Context, _ string) error {
			tries++
			tx, err := e.complete(ctx, store, 0)
			if err != nil {
				return err
			}
			defer func() { _ = tx.Rollback() }()
			if tries == 1 {
				_, err := tx.Exec("ROLLBACK")
				return errors.Join(err, errors.New("deadlock"), store.CompleteTx(ctx, tx))
			}
			return errors.Join(store.CompleteTx(ctx, tx), tx.Commit())
		})
		if n := e.effects(t); n != 1 || tries != 2 || runs[0].Outcome != jobs.OutcomeOK {
			t.Errorf("%d tries, %d effects, %s: %s", tries, n, runs[0].Outcome, runs[0].Error)
		}
	})
}

// A connection is taken for a transaction only if one is open on it.
func TestStore_PutTx_onAConnection(t *testing.T) {
	engines(t, func(t *testing.T, e *engine) {
		store := e.store()
		if err := use(t, store); err != nil {
			t.Fatal(err)
		}
		conn, err := e.db.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if err := store.PutTx(t.Context(), conn, letter("none")); !errors.Is(err, lockrt.ErrOptions) {
			t.Errorf("without a transaction: %v", err)
		}
		for _, end := range []string{"ROLLBACK", "COMMIT"} {
			_, begin := conn.ExecContext(t.Context(), "BEGIN")
			put := store.PutTx(t.Context(), conn, letter(end))
			_, ended := conn.ExecContext(t.Context(), end)
			if err := errors.Join(begin, put, ended); err != nil {
				t.Errorf("%s: %v", end, err)
			}
		}
		if got := waiting(t, store); got != "a COMMIT" {
			t.Errorf("%q wait", got)
		}
	})
}

func TestStore_PutTx_onAConnectionOfPgx(t *testing.T) {
	t.Parallel()
	e := postgres(t)
	store := e.store()
	conn, err := pgx.Connect(t.Context(), e.url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	if err := store.PutTx(t.Context(), sqlstore.PgxTx(conn), letter("a")); !errors.Is(err, lockrt.ErrOptions) {
		t.Errorf("without a transaction: %v", err)
	}
	if got := waiting(t, store); got != "" {
		t.Errorf("%q wait", got)
	}
}
