// Package testorm has types with exactly the methods of what gorm, ent and sqlc call a transaction, so that tests show
// what fits without importing any of them.
package testorm

import (
	"context"
	"database/sql"
	"errors"
)

// ConnPool is gorm's interface of that name: what tx.Statement.ConnPool is.
type ConnPool interface {
	PrepareContext(ctx context.Context, query string) (*sql.Stmt, error)
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// DBTX is the interface of that name that sqlc generates.
type DBTX interface {
	ExecContext(context.Context, string, ...any) (sql.Result, error)
	PrepareContext(context.Context, string) (*sql.Stmt, error)
	QueryContext(context.Context, string, ...any) (*sql.Rows, error)
	QueryRowContext(context.Context, string, ...any) *sql.Row
}

// EntTx is the Tx that ent generates with the feature sql/execquery. There is no QueryRowContext.
type EntTx struct{ config }

// Commit and Rollback end the transaction.
func (tx *EntTx) Commit() error   { return tx.driver.(*sql.Tx).Commit() }
func (tx *EntTx) Rollback() error { return tx.driver.(*sql.Tx).Rollback() }

// Client is what helpers pass around. It works in the transaction.
func (tx *EntTx) Client() *EntClient { return &EntClient{tx.config} }

// EntClient is the Client that ent generates: of a transaction, or of a pool.
type EntClient struct{ config }

// NewEntTx and NewEntClient are of a transaction and a pool.
func NewEntTx(tx *sql.Tx) *EntTx         { return &EntTx{config{tx}} }
func NewEntClient(db *sql.DB) *EntClient { return &EntClient{config{db}} }

type config struct{ driver any }

// ExecContext is there if the driver has one.
func (c *config) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	d, ok := c.driver.(interface {
		ExecContext(context.Context, string, ...any) (sql.Result, error)
	})
	if !ok {
		return nil, errors.New("Driver.ExecContext is not supported")
	}
	return d.ExecContext(ctx, query, args...)
}

// QueryContext is there if the driver has one.
func (c *config) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	d, ok := c.driver.(interface {
		QueryContext(context.Context, string, ...any) (*sql.Rows, error)
	})
	if !ok {
		return nil, errors.New("Driver.QueryContext is not supported")
	}
	return d.QueryContext(ctx, query, args...)
}
