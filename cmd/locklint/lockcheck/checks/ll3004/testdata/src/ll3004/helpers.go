package ll3004

import (
	"context"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
	"gorm.io/gorm"

	"ll3004/guard"
)

// Functions that run another one under a lock, and such that run one in a transaction.

type store struct {
	locks *redislock.Client
	rs    *redsync.Redsync
	db    *gorm.DB
}

func (s *store) WithLock(ctx context.Context, key string, fn func() error) error {
	lock, err := s.locks.Obtain(ctx, key, time.Minute, nil)
	if err != nil {
		return err
	}
	defer lock.Release(context.WithoutCancel(ctx))
	return fn()
}

// guarded takes the lock by way of another helper.
func (s *store) guarded(ctx context.Context, fn func(ctx context.Context) error) error {
	return s.WithLock(ctx, "stock", func() error { return fn(ctx) })
}

func locked(rs *redsync.Redsync, key string, fn func() error) error {
	mutex := rs.NewMutex(key)
	if err := mutex.Lock(); err != nil {
		return err
	}
	err := fn()
	if _, unlockErr := mutex.Unlock(); unlockErr != nil && err == nil {
		err = unlockErr
	}
	return err
}

func (s *store) WithTx(ctx context.Context, fn func(tx *gorm.DB) error) error {
	return s.db.Transaction(fn)
}

// atomically is a transaction by what it does.
func (s *store) atomically(fn func(tx *gorm.DB) error) error {
	tx := s.db.Begin()
	if err := fn(tx); err != nil {
		tx.Rollback()
		return err
	}
	return tx.Commit().Error
}

func (s *store) lockInTx(ctx context.Context) error {
	return s.WithTx(ctx, func(tx *gorm.DB) error {
		return s.WithLock(ctx, "stock", func() error { return tx.Save(1).Error }) // want `LL3004: the lock from store.WithLock is taken inside the transaction`
	})
}

func (s *store) lockInTxThroughHelper(ctx context.Context) error {
	return s.db.Transaction(func(tx *gorm.DB) error {
		return s.guarded(ctx, func(context.Context) error { return tx.Save(1).Error }) // want `LL3004: the lock from store.guarded is taken inside the transaction`
	})
}

func (s *store) lockInOwnTx() error {
	return s.atomically(func(tx *gorm.DB) error {
		return locked(s.rs, "stock", func() error { return tx.Save(1).Error }) // want `LL3004: the lock from locked is taken inside the transaction`
	})
}

func (s *store) plainLockInOwnTx(ctx context.Context) error {
	return s.atomically(func(tx *gorm.DB) error {
		lock, err := s.locks.Obtain(ctx, "stock", time.Minute, nil) // want `LL3004: the lock from Obtain is taken inside the transaction`
		if err != nil {
			return err
		}
		defer lock.Release(ctx)
		return tx.Save(1).Error
	})
}

func (s *store) lockAfterBegin(ctx context.Context) error {
	tx := s.db.Begin()
	err := s.WithLock(ctx, "stock", func() error { return tx.Save(1).Error }) // want `LL3004: the lock from store.WithLock is taken inside the transaction begun at line 92 and released before its commit at line 98`
	if err != nil {
		tx.Rollback()
		return err
	}
	return tx.Commit().Error
}

func (s *store) lockGivenTx(ctx context.Context, tx *gorm.DB) error {
	return s.WithLock(ctx, "stock", func() error { return tx.Save(1).Error }) // want `LL3004: the lock from store.WithLock is taken inside the transaction that is handed in as tx`
}

func (s *store) commitBehind(ctx context.Context) error {
	var tx *gorm.DB
	err := s.WithLock(ctx, "stock", func() error { // want `LL3004: the lock from store.WithLock is released before the transaction commits at line 114`
		tx = s.db.Begin()
		return tx.Save(1).Error
	})
	if err != nil {
		return err
	}
	return tx.Commit().Error
}

func (s *store) ofAnotherPackage(ctx context.Context, g *guard.Guard) error {
	return s.WithTx(ctx, func(tx *gorm.DB) error {
		return g.Do(ctx, "stock", func(context.Context) error { return tx.Save(1).Error }) // want `LL3004: the lock from Guard.Do is taken inside the transaction`
	})
}

func (s *store) behindInterface(ctx context.Context, d guard.Doer) error {
	return s.WithTx(ctx, func(tx *gorm.DB) error {
		return d.Do(ctx, "stock", func(context.Context) error { return tx.Save(1).Error }) // want `LL3004: the lock from Doer.Do is taken inside the transaction`
	})
}

// Fine.

func (s *store) txInLock(ctx context.Context) error {
	return s.WithLock(ctx, "stock", func() error {
		return s.WithTx(ctx, func(tx *gorm.DB) error { return tx.Save(1).Error })
	})
}

func (s *store) ownTxInLock(ctx context.Context) error {
	return s.guarded(ctx, func(context.Context) error {
		return s.atomically(func(tx *gorm.DB) error { return tx.Save(1).Error })
	})
}

func (s *store) beginInLock(ctx context.Context) error {
	return s.WithLock(ctx, "stock", func() error {
		tx := s.db.Begin()
		if err := tx.Save(1).Error; err != nil {
			tx.Rollback()
			return err
		}
		return tx.Commit().Error
	})
}

func (s *store) oneAfterTheOther(ctx context.Context) error {
	if err := s.WithTx(ctx, func(tx *gorm.DB) error { return tx.Save(1).Error }); err != nil {
		return err
	}
	return s.WithLock(ctx, "stock", func() error { return nil })
}

// lockedTx is both: what runs in there has the lock, which encloses the transaction.
func (s *store) lockedTx(ctx context.Context, fn func(tx *gorm.DB) error) error {
	return s.WithLock(ctx, "stock", func() error { return s.db.Transaction(fn) })
}

func (s *store) usesBoth(ctx context.Context) error {
	return s.lockedTx(ctx, func(tx *gorm.DB) error { return tx.Save(1).Error })
}

// perhaps runs the function without the lock, too.
func (s *store) perhaps(ctx context.Context, fn func() error) error {
	if lock, err := s.locks.Obtain(ctx, "stock", time.Minute, nil); err == nil {
		defer lock.Release(context.WithoutCancel(ctx))
	}
	return fn()
}

func (s *store) usesPerhaps(ctx context.Context) error {
	return s.WithTx(ctx, func(tx *gorm.DB) error {
		return s.perhaps(ctx, func() error { return tx.Save(1).Error })
	})
}

// later runs the function when the lock is gone.
func (s *store) later(ctx context.Context, fn func() error) error {
	lock, err := s.locks.Obtain(ctx, "stock", time.Minute, nil)
	if err != nil {
		return err
	}
	if err := lock.Release(ctx); err != nil {
		return err
	}
	return fn()
}

func (s *store) usesLater(ctx context.Context) error {
	return s.WithTx(ctx, func(tx *gorm.DB) error {
		return s.later(ctx, func() error { return tx.Save(1).Error })
	})
}
