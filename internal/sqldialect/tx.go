package sqldialect

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"

	lockrt "github.com/lockgen/lockgen/runtime"
)

// CheckTx refuses what is certainly no transaction: nothing, or a pool. otherwise says what would become of the work.
func CheckTx(tx any, otherwise string) error {
	if IsNothing(tx) {
		return fmt.Errorf("%w: there is no transaction", lockrt.ErrOptions)
	}
	if _, pool := tx.(interface{ SetMaxOpenConns(int) }); pool {
		return fmt.Errorf("%w: %T is no transaction, %s; pass the *sql.Tx of the writes", lockrt.ErrOptions, tx, otherwise)
	}
	return nil
}

// IsNothing reports whether there is no transaction, connection or pool: nil, or a nil pointer of any type.
func IsNothing(tx any) bool {
	if tx == nil {
		return true
	}
	switch v := reflect.ValueOf(tx); v.Kind() {
	case reflect.Pointer, reflect.Func, reflect.Map, reflect.Slice, reflect.Chan:
		return v.IsNil()
	}
	return false
}

// ErrNotOpen says that no transaction is open where one should be: none was begun, or the program or the server has ended
// it, as MySQL does with the victim of a deadlock. Each statement is then committed by itself.
var ErrNotOpen = errors.New("no transaction is open: none was begun, or a statement or a deadlock has ended it")

// CheckOpen returns ErrNotOpen if no transaction is open, as far as the type of tx does not tell. It leaves one as it was.
// table is one that the caller may read.
func (d Dialect) CheckOpen(ctx context.Context, tx Executor, table string) error {
	exec := func(text string) error {
		_, err := tx.ExecContext(ctx, text)
		return err
	}
	switch d {
	case Postgres: // a failed statement ends nothing, and none is done after it
		if _, ends := tx.(interface{ Commit() error }); ends {
			return nil
		}
		err := exec("LOCK TABLE " + table + " IN ACCESS SHARE MODE")
		if err != nil && sqlState(err) == "25P01" {
			return ErrNotOpen
		}
		return err
	case SQLite:
		_, ends := tx.(interface{ Commit() error })
		_, conn := tx.(interface{ Raw(func(any) error) error })
		if !ends && !conn {
			return nil // it may be a pool, whose statements go to any connection
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		ctx = context.WithoutCancel(ctx) // drivers say of a BEGIN that has run, too, that its context has ended
		err := exec("BEGIN")
		if err == nil {
			return errors.Join(ErrNotOpen, exec("ROLLBACK"))
		}
		if strings.Contains(err.Error(), "within a transaction") {
			return nil
		}
		return err
	}
	if err := exec("SAVEPOINT lockgen_open"); err != nil {
		if mysqlNumber(err) == 1295 { // as in MySQL where tx prepares each statement, which MariaDB lets it
			return openPrepared(exec)
		}
		return err
	}
	err := exec("RELEASE SAVEPOINT lockgen_open")
	if err != nil && mysqlNumber(err) == 1305 { // there is none: it has ended with its statement
		return ErrNotOpen
	}
	return err
}

// openPrepared asks whether a transaction is open in a statement that MySQL prepares: while one is, its isolation cannot be
// set, and if none is, setting it to what it is changes nothing.
func openPrepared(exec func(string) error) error {
	err := exec("SET @@transaction_isolation = @@session.transaction_isolation")
	switch {
	case err == nil:
		return ErrNotOpen
	case mysqlNumber(err) == 1568:
		return nil
	}
	return err
}
