// Package pgx is a stand-in with the calls that the checks know.
package pgx

import "context"

type Row interface{ Scan(dest ...any) error }

type CommandTag struct{}

type Tx interface {
	Exec(ctx context.Context, sql string, args ...any) (CommandTag, error)
	QueryRow(ctx context.Context, sql string, args ...any) Row
	Commit(ctx context.Context) error
	Rollback(ctx context.Context) error
}

type Conn struct{}

func (c *Conn) Exec(ctx context.Context, sql string, args ...any) (t CommandTag, err error) {
	return t, nil
}
func (c *Conn) QueryRow(ctx context.Context, sql string, args ...any) Row { return nil }
func (c *Conn) Close(ctx context.Context) error                           { return nil }
