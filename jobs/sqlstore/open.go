package sqlstore

import (
	"context"
	"errors"
	"fmt"

	"github.com/lockgen/lockgen/internal/sqldialect"
)

var errTxOver = errors.New("there is no open transaction: the database has ended it with an error before, as MySQL does " +
	"after a deadlock, and the statement would be committed by itself; roll back and try the whole again")

// checkOpen returns an error if a transaction is over that its caller takes for open. PostgreSQL refuses statements in one
// that has failed. MySQL and SQLite end it after some errors, and commit what comes then. Without a Commit it may be a
// pool, of which SQLite cannot be asked: its statements may go to any connection.
func (t *tables) checkOpen(ctx context.Context, tx Tx) error {
	switch t.Dialect {
	case sqldialect.MySQL: // outside of a transaction a savepoint ends with its statement
		if _, err := tx.ExecContext(ctx, "SAVEPOINT lockgen_open"); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, "RELEASE SAVEPOINT lockgen_open"); t.IsNoSavepoint(err) {
			return fmt.Errorf("%w: %w", errTxOver, err)
		} else if err != nil {
			return err
		}
	case sqldialect.SQLite:
		if _, ends := tx.(interface{ Commit() error }); !ends {
			return nil
		}
		if _, err := tx.ExecContext(ctx, "BEGIN"); err == nil { // it refuses a second one
			_, err = tx.ExecContext(context.WithoutCancel(ctx), "ROLLBACK")
			return errors.Join(errTxOver, err)
		}
	}
	return nil
}
