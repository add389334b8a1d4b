// Package fence has just as much of the package as the tests call. It is loaded, never run.
package fence

import (
	"context"
	"database/sql"

	lockrt "github.com/lockgen/lockgen/runtime"
)

type SQL struct{}

func (SQL) Guard(ctx context.Context, tx *sql.Tx, resource string, f lockrt.Fence) error { return nil }
func (SQL) GuardLease(ctx context.Context, tx *sql.Tx, resource string) error            { return nil }

func FromContext(ctx context.Context) (lockrt.Fence, error) { return 0, nil }
