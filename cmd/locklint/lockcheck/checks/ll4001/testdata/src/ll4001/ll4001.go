package ll4001

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jmoiron/sqlx"
	"gorm.io/gorm"
)

const lockQuery = `SELECT pg_advisory_lock($1)`

type store struct {
	db   *sql.DB
	pool *pgxpool.Pool
	gorm *gorm.DB
}

func (s *store) migrate(ctx context.Context) error {
	if _, err := s.db.ExecContext(ctx, lockQuery, 1); err != nil { // want `"SELECT pg_advisory_lock\(\$1\)" goes through a pool: the lock belongs to the connection that happened to run it`
		return err
	}
	defer s.db.ExecContext(ctx, "SELECT pg_advisory_unlock($1)", 1)
	return nil
}

func (s *store) try(ctx context.Context, id int64) (ok bool, err error) {
	query := "select pg_try_advisory_lock($1)"
	err = s.pool.QueryRow(ctx, query, id).Scan(&ok) // want `"select pg_try_advisory_lock\(\$1\)" goes through a pool`
	return ok, err
}

func (s *store) named(name string) (ok int, err error) {
	q := fmt.Sprintf("SELECT GET_LOCK('%s', 10)", name)
	return ok, s.db.QueryRow(q).Scan(&ok) // want `GET_LOCK.* goes through a pool`
}

func sum(db *sqlx.DB, id string) (ok bool, err error) {
	err = db.Get(&ok, "SELECT pg_try_advisory_lock("+id+")") // want `"SELECT pg_try_advisory_lock\(\?\)" goes through a pool`
	return ok, err
}

// embedded: the method is that of the pool inside.
func embedded(db *sqlx.DB) error {
	_, err := db.Exec(lockQuery, 2) // want `goes through a pool`
	return err
}

func (s *store) viaGorm(ctx context.Context) error {
	return s.gorm.WithContext(ctx).Exec("SELECT pg_advisory_lock(?)", 1).Error // want `goes through a pool`
}

// Below is what is fine.

// oneConnection is how it is done.
func (s *store) oneConnection(ctx context.Context) error {
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := conn.ExecContext(ctx, lockQuery, 1); err != nil {
		return err
	}
	defer conn.ExecContext(ctx, "SELECT pg_advisory_unlock($1)", 1)
	return nil
}

// transaction: the connection is that of the transaction, and such a lock ends with it.
func (s *store) transaction(ctx context.Context) error {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if _, err := tx.ExecContext(ctx, "SELECT pg_advisory_xact_lock($1)", 1); err != nil {
		return err
	}
	return tx.Commit()
}

// inside: gorm hands a connection of its own to the literal.
func (s *store) inside() error {
	return s.gorm.Connection(func(db *gorm.DB) error {
		return db.Exec("SELECT pg_advisory_lock(?)", 1).Error
	})
}

func begun(db *gorm.DB) error {
	tx := db.Begin()
	return tx.Exec("SELECT pg_advisory_lock(?)", 1).Error
}

// both: one statement that takes the lock and gives it back.
func (s *store) both(ctx context.Context) error {
	_, err := s.db.ExecContext(ctx, "SELECT pg_advisory_lock(1); CALL rebuild(); SELECT pg_advisory_unlock(1)")
	return err
}

type execer interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// unknown: it may be a connection.
func unknown(ctx context.Context, x execer) error {
	_, err := x.ExecContext(ctx, lockQuery, 1)
	return err
}

// definition: the database runs it later.
func (s *store) definition(ctx context.Context) error {
	_, err := s.db.ExecContext(ctx, `CREATE FUNCTION f() RETURNS void AS $$ SELECT pg_advisory_lock(1) $$ LANGUAGE sql`)
	return err
}
