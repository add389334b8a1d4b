// Package sqlstore has just as much of the package as the tests call. It is loaded, never run.
package sqlstore

import (
	"context"
	"database/sql"

	lockrt "github.com/lockgen/lockgen/runtime"
)

func DoTx(ctx context.Context, locks *lockrt.Locker, key string, o lockrt.Options, db *sql.DB,
	fn func(ctx context.Context, tx *sql.Tx, lease *lockrt.Lease) error) error {
	return nil
}

func DoAllTx(ctx context.Context, locks *lockrt.Locker, keys []string, o lockrt.Options, db *sql.DB,
	fn func(ctx context.Context, tx *sql.Tx, leases lockrt.Leases) error) error {
	return nil
}
