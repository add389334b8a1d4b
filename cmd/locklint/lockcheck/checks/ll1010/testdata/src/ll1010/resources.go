package ll1010

import (
	"context"
	"database/sql"
	"time"

	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/fence"
	"github.com/lockgen/lockgen/runtime/fence/redisfence"
	"github.com/redis/go-redis/v9"
)

type stock struct {
	locks *lockrt.Locker
	db    *sql.DB
	rdb   *redis.Client
	marks fence.SQL
	keys  redisfence.Redis
}

func (s *stock) sell(ctx context.Context) error {
	return s.locks.Do(ctx, "stock", lockrt.Options{}, func(ctx context.Context, lease *lockrt.Lease) error {
		tx, err := s.db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer tx.Rollback()
		if err := s.marks.Guard(ctx, tx, "stock", lease.Fence()); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, "UPDATE stock SET n = n - 1"); err != nil {
			return err
		}
		if err := s.keys.Do(ctx, "stock", lease.Fence(), "SET", "stock:left", 7); err != nil {
			return err
		}
		return tx.Commit()
	})
}

func (s *stock) refill(ctx context.Context) error {
	return s.locks.Do(ctx, "stock", lockrt.Options{}, func(ctx context.Context, lease *lockrt.Lease) error {
		s.rdb.Set(ctx, "stock:left", 9, time.Hour) // want `LL1010: s.rdb.Set .*without its fence, by which the key "stock:left" is guarded at line \d+`
		s.rdb.Set(ctx, "stock:seen", 9, time.Hour)
		s.db.ExecContext(ctx, "INSERT INTO log VALUES (1)")
		s.db.QueryContext(ctx, "SELECT n FROM stock")
		s.change(ctx)                                               // want `LL1010: s.change .*without its fence, by which the table stock is guarded at line \d+`
		_, err := s.db.ExecContext(ctx, "update stock set n = 100") // want `LL1010: s.db.ExecContext .*without its fence, by which the table stock is guarded at line \d+`
		return err
	})
}

func (s *stock) change(ctx context.Context) {
	s.db.ExecContext(ctx, "DELETE FROM stock WHERE n = 0")
}

// The guard may be a function of its own.
func (s *stock) guard(ctx context.Context, tx *sql.Tx, lease *lockrt.Lease) error {
	return s.marks.Guard(ctx, tx, "users", lease.Fence())
}

func (s *stock) rename(ctx context.Context, tx *sql.Tx, lease *lockrt.Lease) error {
	if err := s.guard(ctx, tx, lease); err != nil {
		return err
	}
	_, err := tx.ExecContext(ctx, `INSERT INTO "users" VALUES (1)`)
	return err
}

func (s *stock) renameBlindly(ctx context.Context, tx *sql.Tx) error {
	lease, err := s.locks.Acquire(ctx, "users", lockrt.Options{})
	if err != nil {
		return err
	}
	defer lease.Release(ctx)
	_, err = tx.ExecContext(ctx, `INSERT INTO users VALUES (1)`) // want `LL1010: tx.ExecContext .*by which the table users is guarded`
	return err
}

// The fence may be a column of the table itself.
func (s *stock) versioned(ctx context.Context) error {
	return s.locks.Do(ctx, "stock", lockrt.Options{}, func(ctx context.Context, lease *lockrt.Lease) error {
		_, err := s.db.ExecContext(ctx, "UPDATE stock SET n = 1 WHERE fence < ?", lease.Fence())
		return err
	})
}

// Without a lock there is no fence to hand over.
func (s *stock) reset(ctx context.Context) { s.db.ExecContext(ctx, "UPDATE stock SET n = 0") }
