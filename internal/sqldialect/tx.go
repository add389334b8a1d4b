package sqldialect

import (
	"database/sql"
	"fmt"

	lockrt "github.com/lockgen/lockgen/runtime"
)

// CheckTx refuses what is certainly no transaction: nothing, or a pool. otherwise says what would become of the work.
func CheckTx(tx any, otherwise string) error {
	if t, ok := tx.(*sql.Tx); tx == nil || ok && t == nil {
		return fmt.Errorf("%w: there is no transaction", lockrt.ErrOptions)
	}
	if _, pool := tx.(interface{ SetMaxOpenConns(int) }); pool {
		return fmt.Errorf("%w: %T is no transaction, %s; pass the *sql.Tx of the writes", lockrt.ErrOptions, tx, otherwise)
	}
	return nil
}
