package sqltest

import (
	"database/sql"
	"errors"
	"testing"

	"github.com/lockgen/lockgen/internal/testorm"
	"github.com/lockgen/lockgen/runtime/fence"
)

// What libraries call a transaction is a Tx.
var (
	_ fence.Tx = (*sql.Tx)(nil)
	_ fence.Tx = testorm.ConnPool(nil)
	_ fence.Tx = testorm.DBTX(nil)
	_ fence.Tx = (*testorm.EntTx)(nil)
	_ fence.Tx = (*testorm.EntClient)(nil)
)

// libraries: a guard and a check work in transactions of gorm, ent and sqlc, whether the dialect is known or not, and
// leave the connection free for what comes next.
func (e engine) libraries(t *testing.T) {
	table := unique("orm")
	known := fence.SQL{Dialect: e.dialect, Table: table}
	if err := known.CreateTable(t.Context(), e.db); err != nil {
		t.Fatal(err)
	}
	for name := range testorm.All(nil) {
		for _, s := range []fence.SQL{known, {Table: table}} {
			tx, err := e.db.BeginTx(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			lib := testorm.All(tx)[name]
			if err := errors.Join(s.Guard(t.Context(), lib, name, 9), s.Check(t.Context(), lib, name, 9)); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if err := s.Guard(t.Context(), lib, name, 8); !errors.Is(err, fence.ErrStale) {
				t.Errorf("%s: a stale guard: %v", name, err)
			}
			if err := tx.Commit(); err != nil {
				t.Errorf("%s: commit: %v", name, err)
			}
		}
	}
}
