package sqltest

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/lockgen/lockgen/internal/testorm"
	"github.com/lockgen/lockgen/jobs"
	"github.com/lockgen/lockgen/jobs/sqlstore"
)

// What libraries call a transaction is a Tx.
var (
	_ sqlstore.Tx = (*sql.Tx)(nil)
	_ sqlstore.Tx = testorm.ConnPool(nil)
	_ sqlstore.Tx = testorm.DBTX(nil)
	_ sqlstore.Tx = (*testorm.EntTx)(nil)
	_ sqlstore.Tx = (*testorm.EntClient)(nil)
)

// TestStore_libraries puts one-off jobs and completes runs in transactions of gorm, ent and sqlc.
func TestStore_libraries(t *testing.T) {
	engines(t, func(t *testing.T, e *engine) {
		e.exec(t, "CREATE TABLE effect (id varchar(100))")
		for name := range testorm.All(nil) {
			t.Run(name, func(t *testing.T) {
				e.exec(t, "DELETE FROM effect")
				e.libraryPuts(t, name)
				e.libraryCompletes(t, name)
			})
		}
	})
}

func (e *engine) libraryPuts(t *testing.T, name string) {
	s, tx := e.store(), begin(t, e)
	for _, id := range []string{"a", "b"} {
		if err := s.PutTx(t.Context(), testorm.All(tx)[name], letter(id)); err != nil {
			t.Fatal(err)
		}
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	tx = begin(t, e)
	if err := errors.Join(s.PutTx(t.Context(), testorm.All(tx)[name], letter("c")), tx.Rollback()); err != nil {
		t.Fatal(err)
	}
	if got := strings.Fields(waiting(t, s)); len(got) != 2 {
		t.Errorf("%q wait, want a and b", got)
	}
}

// The first try is rolled back, so the second completes the run, and may say so twice.
func (e *engine) libraryCompletes(t *testing.T, name string) {
	store, try := e.store(), 0
	runs := e.only(t, store, 2, func(ctx context.Context, _ string) error {
		try++
		tx, err := e.complete(ctx, store, 0)
		if err != nil {
			return err
		}
		lib := testorm.All(tx)[name]
		if err := errors.Join(store.CompleteTx(ctx, lib), store.CompleteTx(ctx, lib)); err != nil {
			t.Error(err)
		}
		if try == 1 {
			return errors.Join(errors.New("no"), tx.Rollback())
		}
		return tx.Commit()
	})
	if runs[0].Outcome != jobs.OutcomeOK || e.effects(t) != 1 {
		t.Errorf("%+v, and %d times committed", runs, e.effects(t))
	}
}

// logging wraps a transaction as those do who log statements. Its type can be compared, and what is in it cannot.
type logging struct{ sqlstore.Tx }

func TestStore_CompleteTx_wrapped(t *testing.T) {
	t.Parallel()
	e := postgres(t)
	e.exec(t, "CREATE TABLE effect (id varchar(100))")
	store := e.store()
	runs := e.only(t, store, 1, func(ctx context.Context, _ string) error {
		conn, err := pgx.Connect(ctx, e.url)
		if err != nil {
			return err
		}
		defer conn.Close(context.WithoutCancel(ctx))
		tx, err := conn.Begin(ctx)
		if err != nil {
			return err
		}
		if err := store.CompleteTx(ctx, logging{sqlstore.PgxTx(tx)}); err != nil {
			t.Error(err)
		}
		if err := store.CompleteTx(ctx, logging{sqlstore.PgxTx(tx)}); !errors.Is(err, jobs.ErrGone) {
			t.Errorf("again, where nobody can tell that it is the same transaction: %v, want ErrGone", err)
		}
		return tx.Commit(ctx)
	})
	if runs[0].Outcome != jobs.OutcomeOK {
		t.Errorf("%+v", runs)
	}
}
