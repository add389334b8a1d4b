package testorm

import (
	"context"
	"database/sql"
)

// prepared is gorm's ConnPool with PrepareStmt: every statement is prepared.
type prepared struct{ ConnPool }

func (p prepared) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	stmt, err := p.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer stmt.Close()
	return stmt.ExecContext(ctx, args...)
}

// QueryContext leaves the statement to the end of the transaction, as gorm keeps it.
func (p prepared) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	stmt, err := p.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	return stmt.QueryContext(ctx, args...)
}

// QueryRowContext is of no use, as gorm's is where a statement cannot be prepared.
func (p prepared) QueryRowContext(context.Context, string, ...any) *sql.Row { return new(sql.Row) }

type preparedTx struct {
	prepared
	tx *sql.Tx
}

func (p preparedTx) Commit() error   { return p.tx.Commit() }
func (p preparedTx) Rollback() error { return p.tx.Rollback() }

// traced hides what a transaction is, as those do who log what goes through a DBTX.
type traced struct{ DBTX }

// Tx has what all of them have.
type Tx interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// All is a transaction as the libraries pass it around.
func All(tx *sql.Tx) map[string]Tx {
	return map[string]Tx{
		"gorm": ConnPool(tx), "gorm, prepared": preparedTx{prepared{tx}, tx}, "ent": NewEntTx(tx),
		"ent's client": NewEntTx(tx).Client(), "sqlc": DBTX(tx), "sqlc, traced": traced{tx},
	}
}

// Pools is what they pass around where there is no transaction, and what does not say by its type that it is a pool.
func Pools(db *sql.DB) map[string]Tx {
	return map[string]Tx{"gorm, prepared": prepared{db}, "ent's client": NewEntClient(db), "sqlc, traced": traced{db}}
}
