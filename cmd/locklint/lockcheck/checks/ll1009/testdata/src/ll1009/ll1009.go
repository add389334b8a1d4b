package ll1009

import (
	"context"
	"database/sql"

	lockrt "github.com/lockgen/lockgen/runtime"
	"gorm.io/gorm"
)

func inside(ctx context.Context, l *lockrt.Locker, db *sql.DB) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	lease, err := l.Acquire(ctx, "a", lockrt.Options{}) // want `LL1009: the lock from Acquire is taken inside the transaction begun at line 12: what it reads may be older than the lock`
	if err != nil {
		return err
	}
	defer lease.Release(ctx)
	return tx.Commit()
}

func insideAndEarly(ctx context.Context, l *lockrt.Locker, db *sql.DB) error {
	tx, err := db.Begin()
	if err != nil {
		return err
	}
	defer tx.Rollback()
	lease, err := l.Acquire(ctx, "a", lockrt.Options{}) // want `LL1009: the lock from Acquire is taken inside the transaction begun at line 26 and released before its commit at line 37`
	if err != nil {
		return err
	}
	_, err = tx.Exec("UPDATE")
	lease.Release(ctx)
	return tx.Commit()
}

func early(ctx context.Context, l *lockrt.Locker, db *sql.DB) error {
	lease, err := l.Acquire(ctx, "a", lockrt.Options{})
	if err != nil {
		return err
	}
	tx, err := db.Begin()
	if err != nil {
		lease.Release(ctx)
		return err
	}
	if _, err := tx.Exec("UPDATE"); err != nil {
		tx.Rollback()
		lease.Release(ctx)
		return err
	}
	lease.Release(ctx) // want `LL1009: the lock from Acquire at line 41 is released before the transaction commits at line 56`
	return tx.Commit()
}

func byDefer(ctx context.Context, l *lockrt.Locker, db *sql.DB) (err error) {
	tx, err := db.Begin()
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			tx.Rollback()
			return
		}
		err = tx.Commit()
	}()
	lease, err := l.Acquire(ctx, "a", lockrt.Options{}) // want `LL1009: .* taken inside the transaction begun at line 60 and released before its commit`
	if err != nil {
		return err
	}
	defer lease.Release(ctx)
	_, err = tx.Exec("UPDATE")
	return err
}

func do(ctx context.Context, l *lockrt.Locker, db *sql.DB) error {
	tx, err := db.Begin()
	if err != nil {
		return err
	}
	defer tx.Rollback()
	err = l.Do(ctx, "a", lockrt.Options{}, func(ctx context.Context, _ *lockrt.Lease) error { // want `LL1009: the lock from Do is taken inside the transaction begun at line 81 and released before its commit at line 93`
		_, err := tx.Exec("UPDATE")
		return err
	})
	if err != nil {
		return err
	}
	return tx.Commit()
}

func literal(ctx context.Context, l *lockrt.Locker, db *gorm.DB) error {
	return db.Transaction(func(tx *gorm.DB) error {
		lease, err := l.Acquire(ctx, "a", lockrt.Options{}) // want `LL1009: the lock from Acquire is taken inside the transaction begun at line 97`
		if err != nil {
			return err
		}
		defer lease.Release(ctx)
		return tx.Save(1).Error
	})
}

// Fine.

func around(ctx context.Context, l *lockrt.Locker, db *sql.DB) error {
	lease, err := l.Acquire(ctx, "a", lockrt.Options{})
	if err != nil {
		return err
	}
	defer lease.Release(ctx)
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	return tx.Commit()
}

func aroundByDefer(ctx context.Context, l *lockrt.Locker, db *sql.DB) (err error) {
	lease, err := l.Acquire(ctx, "a", lockrt.Options{})
	if err != nil {
		return err
	}
	defer lease.Release(ctx)
	tx, err := db.Begin()
	if err != nil {
		return err
	}
	defer func() {
		if err == nil {
			err = tx.Commit()
		} else {
			tx.Rollback()
		}
	}()
	_, err = tx.Exec("UPDATE")
	return err
}

func over(ctx context.Context, l *lockrt.Locker, db *sql.DB) error {
	tx, err := db.Begin()
	if err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	lease, err := l.Acquire(ctx, "a", lockrt.Options{})
	if err != nil {
		return err
	}
	return lease.Release(ctx)
}

func aroundDo(ctx context.Context, l *lockrt.Locker, db *sql.DB) error {
	return l.Do(ctx, "a", lockrt.Options{}, func(ctx context.Context, _ *lockrt.Lease) error {
		tx, err := db.Begin()
		if err != nil {
			return err
		}
		return tx.Commit()
	})
}

func aroundGorm(ctx context.Context, l *lockrt.Locker, db *gorm.DB) error {
	lease, err := l.Acquire(ctx, "a", lockrt.Options{})
	if err != nil {
		return err
	}
	defer lease.Release(ctx)
	return db.Transaction(func(tx *gorm.DB) error { return tx.Save(1).Error })
}

func afterRollback(ctx context.Context, l *lockrt.Locker, db *sql.DB) error {
	lease, err := l.Acquire(ctx, "a", lockrt.Options{})
	if err != nil {
		return err
	}
	tx, err := db.Begin()
	if err != nil {
		lease.Release(ctx)
		return err
	}
	err = tx.Commit()
	lease.Release(ctx)
	return err
}

// A session that only some paths have begun.

type session struct{}

func (*session) Begin() error    { return nil }
func (*session) Commit() error   { return nil }
func (*session) Rollback() error { return nil }
func (*session) prepare()        {}

func sometimesBegun(ctx context.Context, l *lockrt.Locker, s *session, big bool) error {
	if big {
		_ = s.Begin()
	} else {
		s.prepare()
	}
	lease, err := l.Acquire(ctx, "a", lockrt.Options{})
	if err != nil {
		return err
	}
	defer lease.Release(ctx)
	return s.Commit()
}

func alwaysBegun(ctx context.Context, l *lockrt.Locker, s *session) error {
	if err := s.Begin(); err != nil {
		return err
	}
	lease, err := l.Acquire(ctx, "a", lockrt.Options{}) // want `LL1009`
	if err != nil {
		return err
	}
	defer lease.Release(ctx)
	return s.Commit()
}
