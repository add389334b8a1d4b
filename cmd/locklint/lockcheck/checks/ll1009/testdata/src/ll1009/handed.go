package ll1009

import (
	"context"
	"database/sql"

	lockrt "github.com/lockgen/lockgen/runtime"
	"gorm.io/gorm"
)

func handed(ctx context.Context, l *lockrt.Locker, tx *sql.Tx) error {
	lease, err := l.Acquire(ctx, "a", lockrt.Options{}) // want `LL1009: the lock from Acquire is taken inside the transaction that is handed in as tx: what it reads`
	if err != nil {
		return err
	}
	defer lease.Release(ctx)
	_, err = tx.Exec("UPDATE")
	return err
}

func handedDo(ctx context.Context, l *lockrt.Locker, work *sql.Tx) error {
	return l.Do(ctx, "a", lockrt.Options{}, func(ctx context.Context, _ *lockrt.Lease) error { // want `LL1009: the lock from Do is taken inside the transaction that is handed in as work`
		_, err := work.Exec("UPDATE")
		return err
	})
}

func handedGorm(ctx context.Context, l *lockrt.Locker, tx *gorm.DB) error {
	return l.Do(ctx, "a", lockrt.Options{}, func(ctx context.Context, _ *lockrt.Lease) error { // want `LL1009: the lock from Do is taken inside the transaction that is handed in as tx`
		return tx.Save(1).Error
	})
}

// A UnitTx is a transaction by its methods and its name, of whatever library.
type UnitTx interface {
	Commit(context.Context) error
	Rollback(context.Context) error
}

type store struct{ locks *lockrt.Locker }

func (s *store) inTx(ctx context.Context, run func(UnitTx) error) error { return nil }

func (s *store) literal(ctx context.Context) error {
	return s.inTx(ctx, func(tx UnitTx) error {
		defer func() {
			lease, err := s.locks.TryAcquire(ctx, "a", lockrt.Options{}) // want `LL1009: the lock from TryAcquire is taken inside the transaction that is handed in as tx`
			if err == nil {
				lease.Release(ctx)
			}
		}()
		return nil
	})
}

//lock:key=item:{id},ttl=30s
func (s *store) sellLocked(ctx context.Context, tx *sql.Tx, id int64) error { // want `LL1009: the lock from the wrapper sell is taken inside the transaction that is handed in as tx`
	_, err := tx.Exec("UPDATE")
	return err
}

func rollbackLater(ctx context.Context, l *lockrt.Locker, tx *sql.Tx) error {
	lease, err := l.Acquire(ctx, "a", lockrt.Options{}) // want `LL1009: .* handed in as tx`
	if err != nil {
		tx.Rollback()
		return err
	}
	defer lease.Release(ctx)
	return tx.Commit()
}

// Fine.

func commitFirst(ctx context.Context, l *lockrt.Locker, tx *sql.Tx) error {
	if err := tx.Commit(); err != nil {
		return err
	}
	return l.Do(ctx, "a", lockrt.Options{}, func(context.Context, *lockrt.Lease) error { return nil })
}

func finishTx(tx *sql.Tx, err error) error { return err }

func finishFirst(ctx context.Context, l *lockrt.Locker, tx *sql.Tx) error {
	if err := finishTx(tx, nil); err != nil {
		return err
	}
	return l.Do(ctx, "a", lockrt.Options{}, func(context.Context, *lockrt.Lease) error { return nil })
}

func perhaps(ctx context.Context, l *lockrt.Locker, tx *sql.Tx) error {
	if tx == nil {
		return l.Do(ctx, "a", lockrt.Options{}, func(context.Context, *lockrt.Lease) error { return nil })
	}
	_, err := tx.Exec("UPDATE")
	return err
}

//lock:key=item:{id},ttl=30s
func (s *store) giveLocked(ctx context.Context, tx *sql.Tx, id int64) error {
	if tx == nil {
		return nil
	}
	_, err := tx.Exec("UPDATE")
	return err
}

func alreadyHeld(ctx context.Context, l *lockrt.Locker, tx *sql.Tx, outer *lockrt.Lease) error {
	return l.Do(ctx, "b", lockrt.Options{}, func(context.Context, *lockrt.Lease) error { return nil })
}

func fenced(ctx context.Context, l *lockrt.Locker, tx *sql.Tx, fence lockrt.Fence) error {
	return l.Do(ctx, "b", lockrt.Options{}, func(context.Context, *lockrt.Lease) error { return nil })
}

func handedDB(ctx context.Context, l *lockrt.Locker, db *gorm.DB) error {
	return l.Do(ctx, "a", lockrt.Options{}, func(context.Context, *lockrt.Lease) error { return db.Save(1).Error })
}

func later(ctx context.Context, l *lockrt.Locker, tx *sql.Tx) {
	go func() {
		_ = l.Do(ctx, "a", lockrt.Options{}, func(context.Context, *lockrt.Lease) error { return nil })
	}()
}

type hooks struct{}

func (hooks) afterCommit(run func()) {}

func hooked(ctx context.Context, l *lockrt.Locker, tx *sql.Tx, h hooks) {
	h.afterCommit(func() {
		_ = l.Do(ctx, "a", lockrt.Options{}, func(context.Context, *lockrt.Lease) error { return nil })
	})
}

type ownTx struct {
	*sql.Tx
	locks *lockrt.Locker
}

func (tx *ownTx) start(ctx context.Context) error {
	return tx.locks.Do(ctx, "a", lockrt.Options{}, func(context.Context, *lockrt.Lease) error { return nil })
}

func commitUnit(ctx context.Context, l *lockrt.Locker, tx UnitTx) error {
	if err := tx.Commit(ctx); err != nil {
		return err
	}
	return l.Do(ctx, "a", lockrt.Options{}, func(context.Context, *lockrt.Lease) error { return nil })
}
