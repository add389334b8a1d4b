// Package never takes locks of the session that nothing unlocks.
package never

import (
	"context"
	"database/sql"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

func transaction(ctx context.Context, db *sql.DB) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if _, err := tx.ExecContext(ctx, "SELECT pg_advisory_lock($1)", 1); err != nil { // want `the lock of "SELECT pg_advisory_lock\(\$1\)" outlives the transaction: it belongs to the session, nothing here unlocks it`
		return err
	}
	return tx.Commit()
}

func named(ctx context.Context, tx pgx.Tx) (got int, err error) {
	err = tx.QueryRow(ctx, "SELECT GET_LOCK('job', 1)").Scan(&got) // want `outlives the transaction`
	return got, err
}

func givenBack(ctx context.Context, pool *pgxpool.Pool, work func() error) error {
	conn, err := pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	if _, err := conn.Exec(ctx, "SELECT pg_advisory_lock($1)", 1); err != nil { // want `nothing here unlocks the lock of "SELECT pg_advisory_lock\(\$1\)", and the connection goes back to its pool with it`
		return err
	}
	return work()
}

// xact ends with its transaction.
func xact(ctx context.Context, tx *sql.Tx) error {
	_, err := tx.ExecContext(ctx, "SELECT pg_advisory_xact_lock($1)", 1)
	return err
}
