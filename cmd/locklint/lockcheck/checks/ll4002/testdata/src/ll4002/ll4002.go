package ll4002

import (
	"context"
	"database/sql"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jmoiron/sqlx"
	"gorm.io/gorm"
)

func exec(ctx context.Context, conn *sql.Conn) error {
	_, err := conn.ExecContext(ctx, "SELECT GET_LOCK('job', 10)") // want `"SELECT GET_LOCK\('job', 10\)" says whether it has got the lock, and ExecContext drops the answer: everybody gets this lock`
	return err
}

func inTransaction(ctx context.Context, tx pgx.Tx) error {
	_, err := tx.Exec(ctx, "SELECT pg_try_advisory_xact_lock($1)", 1) // want `Exec drops the answer`
	return err
}

func unread(ctx context.Context, conn *pgxpool.Conn) error {
	var ok bool
	if err := conn.QueryRow(ctx, "SELECT pg_try_advisory_lock($1)", 1).Scan(&ok); err != nil { // want `nobody looks at the answer`
		return err
	}
	return nil
}

func ignored(db *sqlx.DB) error {
	var got int
	err := db.Get(&got, "SELECT GET_LOCK(?, 0)", "job") // want `nobody looks at the answer`
	_ = got
	return err
}

func onlyError(db *sql.DB) error {
	return db.QueryRow("SELECT GET_LOCK(?, 0)", "job").Err() // want `QueryRow drops the answer`
}

func onlyNull(conn *sql.Conn) error {
	var got sql.NullInt64
	if err := conn.QueryRowContext(context.Background(), "SELECT GET_LOCK(?, 0)", "job").Scan(&got); err != nil { // want `only NULL is told apart, and 0 is the answer when somebody else has the lock`
		return err
	}
	if !got.Valid {
		return errors.New("no lock")
	}
	return nil
}

func viaGorm(tx *gorm.DB) error {
	return tx.Exec("SELECT pg_try_advisory_xact_lock(?)", 1).Error // want `Exec drops the answer`
}

// Below is what is fine.

func asked(ctx context.Context, conn *sql.Conn) (bool, error) {
	var ok bool
	err := conn.QueryRowContext(ctx, "SELECT pg_try_advisory_lock($1)", 1).Scan(&ok)
	return ok, err
}

func named(ctx context.Context, conn *sql.Conn) (ok bool, err error) {
	err = conn.QueryRowContext(ctx, "SELECT pg_try_advisory_lock($1)", 1).Scan(&ok)
	return
}

func one(conn *sql.Conn) error {
	var got sql.NullInt64
	if err := conn.QueryRowContext(context.Background(), "SELECT GET_LOCK(?, 0)", "job").Scan(&got); err != nil {
		return err
	}
	if !got.Valid || got.Int64 != 1 {
		return errors.New("no lock")
	}
	return nil
}

// waits: pg_advisory_lock returns when it has the lock.
func waits(ctx context.Context, conn *sql.Conn) error {
	_, err := conn.ExecContext(ctx, "SELECT pg_advisory_lock($1)", 1)
	return err
}

type holder struct{ ok bool }

// field: others look.
func (h *holder) field(ctx context.Context, conn *sql.Conn) error {
	return conn.QueryRowContext(ctx, "SELECT pg_try_advisory_lock($1)", 1).Scan(&h.ok)
}

// rows are read in ways that nobody follows.
func rows(ctx context.Context, conn *sql.Conn) (*sql.Rows, error) {
	return conn.QueryContext(ctx, "SELECT pg_try_advisory_lock($1)", 1)
}
