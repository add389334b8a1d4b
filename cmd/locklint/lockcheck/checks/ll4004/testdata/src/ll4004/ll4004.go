package ll4004

import (
	"context"
	"database/sql"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

var errBusy = errors.New("busy")

func earlyReturn(ctx context.Context, conn *sql.Conn, skip bool) error {
	if _, err := conn.ExecContext(ctx, "SELECT pg_advisory_lock($1)", 1); err != nil { // want `the lock of "SELECT pg_advisory_lock\(\$1\)" is not released on every path: the return at line 19 leaves it to the connection`
		return err
	}
	if skip {
		return nil
	}
	_, err := conn.ExecContext(ctx, "SELECT pg_advisory_unlock($1)", 1)
	return err
}

func failedWork(ctx context.Context, conn *pgxpool.Conn, work func() error) error {
	var ok bool
	err := conn.QueryRow(ctx, "SELECT pg_try_advisory_lock($1)", 1).Scan(&ok) // want `the return at line 35 leaves it`
	if err != nil {
		return err
	}
	if !ok {
		return errBusy
	}
	if err = work(); err != nil {
		return err
	}
	_, err = conn.Exec(ctx, "SELECT pg_advisory_unlock($1)", 1)
	return err
}

// Below is what is fine.

func deferred(ctx context.Context, conn *sql.Conn, work func() error) error {
	var ok bool
	if err := conn.QueryRowContext(ctx, "SELECT pg_try_advisory_lock($1)", 1).Scan(&ok); err != nil || !ok {
		return errBusy
	}
	defer func() { conn.ExecContext(context.WithoutCancel(ctx), "SELECT pg_advisory_unlock($1)", 1) }()
	return work()
}

func number(ctx context.Context, conn *sql.Conn, work func() error) error {
	var got int
	if err := conn.QueryRowContext(ctx, "SELECT GET_LOCK('job', 1)").Scan(&got); err != nil {
		return err
	}
	if got != 1 {
		return errBusy
	}
	err := work()
	conn.ExecContext(ctx, "SELECT RELEASE_LOCK('job')")
	return err
}

// handsOn gives its caller the function that unlocks.
func handsOn(ctx context.Context, conn *sql.Conn) (func(), error) {
	if _, err := conn.ExecContext(ctx, "SELECT pg_advisory_lock($1)", 1); err != nil {
		return nil, err
	}
	return func() { conn.ExecContext(ctx, "SELECT pg_advisory_unlock($1)", 1) }, nil
}

// lock is one half; the other half unlocks.
func lock(ctx context.Context, conn *sql.Conn) error {
	_, err := conn.ExecContext(ctx, "SELECT pg_advisory_lock($1)", 1)
	return err
}

// own: the session ends with the connection, which no pool has.
func own(ctx context.Context, conn *pgx.Conn, skip bool) error {
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, "SELECT pg_advisory_lock($1)", 1); err != nil {
		return err
	}
	if skip {
		return nil
	}
	_, err := conn.Exec(ctx, "SELECT pg_advisory_unlock($1)", 1)
	return err
}

type held struct{ conn *pgxpool.Conn }

// kept hands the connection on in a struct; giving it back without the lock is no unlock.
func kept(ctx context.Context, pool *pgxpool.Pool) (*held, error) {
	conn, err := pool.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	var ok bool
	if err := conn.QueryRow(ctx, "SELECT pg_try_advisory_lock($1)", 1).Scan(&ok); err != nil {
		conn.Release()
		return nil, err
	}
	if !ok {
		conn.Release()
		return nil, errBusy
	}
	return &held{conn}, nil
}

func (h *held) unlock(ctx context.Context) {
	h.conn.Exec(ctx, "SELECT pg_advisory_unlock($1)", 1)
	h.conn.Release()
}

// row: the answer is read later, in ways that nobody follows.
func row(ctx context.Context, conn *sql.Conn, work func() error) error {
	var got int
	row := conn.QueryRowContext(ctx, "SELECT GET_LOCK('job', 1)")
	if err := row.Scan(&got); err != nil {
		return err
	}
	defer conn.ExecContext(ctx, "SELECT RELEASE_LOCK('job')")
	return work()
}
