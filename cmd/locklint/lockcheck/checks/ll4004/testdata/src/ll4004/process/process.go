// Package process keeps its connection, and the lock on it, for as long as it lives.
package process

import (
	"context"
	"database/sql"
)

type leader struct{ conn *sql.Conn }

func (l *leader) campaign(ctx context.Context, db *sql.DB) error {
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	l.conn = conn
	_, err = conn.ExecContext(ctx, "SELECT pg_advisory_lock($1)", 1)
	return err
}
