package sqldialect

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"strings"
	"time"
)

// rollbackTime is what ending a transaction may take when the time of its call is over.
const rollbackTime = 5 * time.Second

// Immediate runs f in a transaction of SQLite, and commits unless f returns an error. It takes the only lock that there
// is first: a transaction that reads and then writes fails when another has written meanwhile, without waiting. After an
// error the transaction is undone, unless the error is that of a COMMIT that has run.
func Immediate(ctx context.Context, db *sql.DB, f func(*sql.Conn) error) (err error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	committed := false
	defer func() { // also after a panic
		if !committed {
			rollBack(conn)
		}
	}()
	// Drivers say of a BEGIN that has run, too, that its context has ended.
	if _, err = conn.ExecContext(ctx, "BEGIN IMMEDIATE"); err == nil {
		err = f(conn)
	}
	if err == nil {
		_, err = conn.ExecContext(ctx, "COMMIT")
		committed = err == nil
	}
	return err
}

// rollBack ends the transaction of a connection if it is in one. Nobody gets the connection if it may still be.
func rollBack(conn *sql.Conn) {
	ctx, cancel := context.WithTimeout(context.Background(), rollbackTime)
	defer cancel()
	if _, err := conn.ExecContext(ctx, "ROLLBACK"); err != nil && !strings.Contains(err.Error(), "no transaction is active") {
		_ = conn.Raw(func(any) error { return driver.ErrBadConn })
	}
}
