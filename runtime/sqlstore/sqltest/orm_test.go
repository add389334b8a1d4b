package sqltest

import (
	"database/sql"
	"errors"
	"testing"

	"github.com/lockgen/lockgen/internal/testorm"
	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/sqlstore"
)

// What libraries call a transaction is a Tx.
var (
	_ sqlstore.Tx = (*sql.Tx)(nil)
	_ sqlstore.Tx = testorm.ConnPool(nil)
	_ sqlstore.Tx = testorm.DBTX(nil)
	_ sqlstore.Tx = (*testorm.EntTx)(nil)
	_ sqlstore.Tx = (*testorm.EntClient)(nil)
)

// TestGuard_libraries guards transactions of gorm, ent and sqlc, and refuses what is none there.
func TestGuard_libraries(t *testing.T) {
	t.Parallel()
	e := postgres(t)
	e.exec(t, "CREATE TABLE data (n int)")
	lease, err := e.locker(t, "a").Acquire(t.Context(), "k", lockrt.Options{TTL: long})
	if err != nil {
		t.Fatal(err)
	}
	for _, none := range []sqlstore.Tx{nil, (*sql.Tx)(nil), (*sql.Conn)(nil), (*testorm.EntTx)(nil)} {
		if err := sqlstore.Guard(t.Context(), none, lease); !errors.Is(err, lockrt.ErrOptions) {
			t.Errorf("on a nil %T: %v", none, err)
		}
	}
	for driver, dsn := range map[string]string{"pgx": e.url, "postgres": e.url} {
		db := openDB(t, driver, dsn)
		for name := range testorm.All(nil) {
			t.Run(driver+"/"+name, func(t *testing.T) {
				tx, err := db.BeginTx(t.Context(), nil)
				if err != nil {
					t.Fatal(err)
				}
				defer tx.Rollback()
				if err := sqlstore.Guard(t.Context(), testorm.All(tx)[name], lease); err != nil {
					t.Fatal(err)
				}
				var guards int
				const query = `SELECT count(*) FROM pg_locks WHERE pid = pg_backend_pid() AND mode = 'RowShareLock'
					AND relation = 'lockgen_lock'::regclass`
				if err := tx.QueryRow(query).Scan(&guards); err != nil || guards != 1 {
					t.Errorf("%d guards are in the transaction, %v; want one", guards, err)
				}
				if err := writes(t, tx)(); err != nil {
					t.Error(err)
				}
			})
		}
		for name, pool := range testorm.Pools(db) {
			t.Run(driver+"/no transaction/"+name, func(t *testing.T) {
				if err := sqlstore.Guard(t.Context(), pool, lease); !errors.Is(err, lockrt.ErrOptions) {
					t.Errorf("the guard of a pool: %v, want ErrOptions", err)
				}
			})
		}
	}
	if err := lease.Release(t.Context()); err != nil {
		t.Error(err)
	}
}
