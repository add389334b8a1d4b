package ll3004

import (
	"context"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
	"gorm.io/gorm"
)

func early(rs *redsync.Redsync, db *gorm.DB) error {
	tx := db.Begin()
	mutex := rs.NewMutex("a")
	if err := mutex.Lock(); err != nil { // want `LL3004: the lock from Mutex.Lock is taken inside the transaction begun at line 13 and released before its commit at line 26`
		tx.Rollback()
		return err
	}
	if err := tx.Save(1).Error; err != nil {
		tx.Rollback()
		return err
	}
	if ok, err := mutex.Unlock(); !ok || err != nil {
		return err
	}
	return tx.Commit().Error
}

func earlyOnly(rs *redsync.Redsync, db *gorm.DB) error {
	mutex := rs.NewMutex("a")
	if err := mutex.Lock(); err != nil {
		return err
	}
	tx := db.Begin()
	tx.Save(1)
	mutex.Unlock() // want `LL3004: the lock from Mutex.Lock at line 31 is released before the transaction commits at line 37`
	return tx.Commit().Error
}

func inLiteral(ctx context.Context, c *redislock.Client, db *gorm.DB) error {
	return db.Transaction(func(tx *gorm.DB) error {
		lock, err := c.Obtain(ctx, "a", time.Minute, nil) // want `LL3004: the lock from Obtain is taken inside the transaction begun at line 41`
		if err != nil {
			return err
		}
		defer lock.Release(ctx)
		return tx.Save(1).Error
	})
}

// Fine.

func around(rs *redsync.Redsync, db *gorm.DB) error {
	mutex := rs.NewMutex("a")
	if err := mutex.Lock(); err != nil {
		return err
	}
	defer mutex.Unlock()
	tx := db.Begin()
	if err := tx.Save(1).Error; err != nil {
		tx.Rollback()
		return err
	}
	return tx.Commit().Error
}

func undone(rs *redsync.Redsync, db *gorm.DB) error {
	mutex := rs.NewMutex("a")
	if err := mutex.Lock(); err != nil {
		return err
	}
	tx := db.Begin()
	if err := tx.Save(1).Error; err != nil {
		mutex.Unlock() // this transaction does not commit
		return err
	}
	err := tx.Commit().Error
	mutex.Unlock()
	return err
}

func perItem(rs *redsync.Redsync, db *gorm.DB, items []string) error {
	for _, item := range items {
		mutex := rs.NewMutex(item)
		if err := mutex.Lock(); err != nil {
			return err
		}
		tx := db.Begin()
		tx.Save(item)
		tx.Commit()
		mutex.Unlock()
	}
	return nil
}
