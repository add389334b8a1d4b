package ll1009

import (
	"context"
	"database/sql"

	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/sqlstore"
)

type till struct {
	locks *lockrt.Locker
	db    *sql.DB
}

func (t *till) commits(ctx context.Context) error {
	return sqlstore.DoTx(ctx, t.locks, "a", lockrt.Options{}, t.db, func(ctx context.Context, tx *sql.Tx, _ *lockrt.Lease) error {
		if _, err := tx.Exec("UPDATE"); err != nil {
			tx.Rollback() // want `LL1009: tx.Rollback .*ends the transaction that DoTx has begun and ends itself`
			return err
		}
		return tx.Commit() // want `LL1009: tx.Commit .*ends the transaction that DoTx has begun and ends itself`
	})
}

func (t *till) defers(ctx context.Context) error {
	return sqlstore.DoAllTx(ctx, t.locks, []string{"a", "b"}, lockrt.Options{}, t.db, func(ctx context.Context, tx *sql.Tx, _ lockrt.Leases) error {
		defer tx.Rollback() // want `LL1009: tx.Rollback .*ends the transaction that DoAllTx has begun`
		_, err := tx.Exec("UPDATE")
		return err
	})
}

//lock:key=c:{id},ttl=30s,tx=t.db
func (t *till) chargeLocked(ctx context.Context, tx *sql.Tx, id int64) error {
	if _, err := tx.Exec("UPDATE"); err != nil {
		return err
	}
	return tx.Commit() // want `LL1009: tx.Commit .*ends the transaction that the wrapper charge has begun and ends itself`
}

func (t *till) twice(ctx context.Context, tx *sql.Tx) error {
	return sqlstore.DoTx(ctx, t.locks, "a", lockrt.Options{}, t.db, func(context.Context, *sql.Tx, *lockrt.Lease) error { // want `LL1009: the lock from DoTx is taken inside the transaction that is handed in as tx`
		return nil
	})
}

// Fine: the wrapper ends it.
//
//lock:key=d:{id},ttl=30s,tx=t.db
func (t *till) creditLocked(ctx context.Context, tx *sql.Tx, id int64) error {
	_, err := tx.Exec("UPDATE")
	return err
}

// Another transaction is its own affair.
func (t *till) another(ctx context.Context) error {
	return sqlstore.DoTx(ctx, t.locks, "a", lockrt.Options{}, t.db, func(ctx context.Context, tx *sql.Tx, _ *lockrt.Lease) error {
		log, err := t.db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		return log.Commit()
	})
}
