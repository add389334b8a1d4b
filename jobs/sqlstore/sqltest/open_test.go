package sqltest

import (
	"context"
	"database/sql"
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/lockgen/lockgen/internal/testorm"
	"github.com/lockgen/lockgen/jobs/sqlstore"
	lockrt "github.com/lockgen/lockgen/runtime"
)

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

// nothings are what callers have who have no transaction.
func nothings() []sqlstore.Tx {
	return []sqlstore.Tx{
		nil, (*sql.Tx)(nil), (*sql.Conn)(nil), (*sql.DB)(nil), (*testorm.EntTx)(nil), sqlstore.PgxTx(pgx.Tx(nil)),
		sqlstore.PgxTx((*pgx.Conn)(nil)),
	}
}

func TestStore_PutTx_onNothing(t *testing.T) {
	engines(t, func(t *testing.T, e *engine) {
		for _, none := range nothings() {
			if err := e.store().PutTx(t.Context(), none, letter("a")); !errors.Is(err, lockrt.ErrOptions) {
				t.Errorf("on a nil %T: %v", none, err)
			}
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
