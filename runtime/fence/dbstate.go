package fence

import (
	"context"
	"database/sql"
	"fmt"
	"sync/atomic"

	lockrt "github.com/lockgen/lockgen/runtime"
)

// State returns a State that keeps its high-water marks in db, in the same table as Guard does. If the Dialect is
// empty, the State asks the server for it once, and creates a table that is missing, also in MySQL.
func (s SQL) State(db *sql.DB) State { return &dbState{sql: s, db: db} }

type dbState struct {
	sql   SQL
	db    *sql.DB
	known atomic.Pointer[statements] // once the server has said its dialect
}

// Check implements State with a transaction of its own.
func (s *dbState) Check(ctx context.Context, resource string, f lockrt.Fence) error {
	st, err := s.statements(ctx)
	if err != nil {
		return fmt.Errorf("check fence of %q: %w", resource, err)
	}
	known := SQL{Dialect: Dialect(st.Dialect), Table: st.table}
	guard := func() error {
		return st.inTx(ctx, s.db, func(tx *sql.Tx) error { return known.Guard(ctx, tx, resource, f) })
	}
	if err = guard(); s.sql.Dialect == "" && st.IsMissingTable(err) {
		if err = known.CreateTable(ctx, s.db); err == nil {
			err = guard()
		}
	}
	return err
}

func (s *dbState) statements(ctx context.Context) (*statements, error) {
	if st := s.known.Load(); st != nil {
		return st, nil
	}
	st, err := s.sql.statements(ctx, s.db)
	if err != nil {
		return nil, err
	}
	s.known.Store(&st)
	return &st, nil
}
