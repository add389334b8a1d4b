// Package sqlx is a stand-in with the calls that the checks know.
package sqlx

import (
	"context"
	"database/sql"
)

type DB struct{ *sql.DB }

func (db *DB) Get(dest any, query string, args ...any) error { return nil }
func (db *DB) GetContext(ctx context.Context, dest any, query string, args ...any) error {
	return nil
}
func (db *DB) MustExec(query string, args ...any) sql.Result { return nil }
