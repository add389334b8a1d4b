package ll4003

import (
	"context"
	"database/sql"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"
)

type stock struct{ n int }

func sell(ctx context.Context, db *sql.DB, id int) error {
	var n int
	err := db.QueryRowContext(ctx, "SELECT n FROM stock WHERE id = $1 FOR UPDATE", id).Scan(&n) // want `"SELECT n FROM stock WHERE id = \$1 FOR UPDATE" runs outside of a transaction: its lock is over when the statement is`
	if err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, "UPDATE stock SET n = $1 WHERE id = $2", n-1, id)
	return err
}

func shared(ctx context.Context, pool *pgxpool.Pool) pgx.Row {
	const query = `
		SELECT n
		FROM stock
		FOR NO KEY UPDATE OF stock SKIP LOCKED`
	return pool.QueryRow(ctx, query) // want `"SELECT n FROM stock FOR NO KEY UPDATE OF stock SKIP LOCKED" runs outside`
}

func advisory(ctx context.Context, pool *pgxpool.Pool) error {
	_, err := pool.Exec(ctx, "SELECT pg_advisory_xact_lock($1);", 1) // want `runs outside of a transaction`
	return err
}

var db *gorm.DB

func viaGorm(id int) error {
	var s stock
	return db.Clauses(clause.Locking{Strength: "UPDATE"}).First(&s, id).Error // want `"SELECT … FOR UPDATE" runs outside of a transaction`
}

// Below is what is fine.

func inTransaction(ctx context.Context, db *sql.DB, id int) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	var n int
	if err := tx.QueryRowContext(ctx, "SELECT n FROM stock WHERE id = $1 FOR UPDATE", id).Scan(&n); err != nil {
		return err
	}
	return tx.Commit()
}

// queue: one statement that finds a row and marks it.
func queue(ctx context.Context, db *sql.DB) error {
	_, err := db.ExecContext(ctx, `UPDATE jobs SET state = 'running' WHERE id = (
		SELECT id FROM jobs WHERE state = 'new' LIMIT 1 FOR UPDATE SKIP LOCKED)`)
	return err
}

func withParts(ctx context.Context, db *sql.DB) error {
	_, err := db.ExecContext(ctx, `WITH j AS (SELECT id FROM jobs FOR UPDATE) UPDATE jobs SET n = 1 FROM j`)
	return err
}

// several: the text brings its own transaction.
func several(ctx context.Context, db *sql.DB) error {
	_, err := db.ExecContext(ctx, `SELECT n FROM stock FOR UPDATE; UPDATE stock SET n = n - 1`)
	return err
}

type repo struct{ db *gorm.DB }

// field: it may be that of a transaction.
func (r *repo) field(id int) error {
	var s stock
	return r.db.Clauses(clause.Locking{Strength: "UPDATE"}).First(&s, id).Error
}

func inLiteral(id int) error {
	return db.Transaction(func(tx *gorm.DB) error {
		var s stock
		return tx.Clauses(clause.Locking{Strength: "UPDATE"}).First(&s, id).Error
	})
}
