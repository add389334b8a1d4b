package ll1018

import (
	"context"
	"database/sql"

	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/redis/go-redis/v9"
)

type shop struct {
	locks *lockrt.Locker
	db    *sql.DB
	rdb   *redis.Client
}

var reading = lockrt.Options{Mode: lockrt.Read}

//lock:key=catalog:{tenant},mode=read,ttl=30s
func (s *shop) findLocked(ctx context.Context, tenant string) error {
	_, err := s.db.ExecContext(ctx, "UPDATE products SET price = 1 WHERE tenant = ?", tenant) // want `LL1018: s.db.ExecContext writes the table products under the lock from the wrapper find at line 20, which is held to read`
	return err
}

func (s *shop) inDo(ctx context.Context) error {
	return s.locks.Do(ctx, "catalog", lockrt.Options{Mode: lockrt.Read}, func(ctx context.Context, _ *lockrt.Lease) error {
		return s.rdb.Set(ctx, "catalog:first", 1, 0).Err() // want `LL1018: s.rdb.Set writes the key "catalog:first" under the lock from Do`
	})
}

func (s *shop) acquired(ctx context.Context) error {
	lease, err := s.locks.Acquire(ctx, "catalog", reading)
	if err != nil {
		return err
	}
	defer lease.Release(ctx)
	return s.store(ctx) // want `LL1018: s.store writes the table products`
}

func (s *shop) store(ctx context.Context) error {
	_, err := s.db.ExecContext(ctx, "DELETE FROM products")
	return err
}

func (s *shop) bothToRead(ctx context.Context) error {
	keys := []lockrt.KeyOptions{{Key: "catalog", Mode: lockrt.Read}, {Key: "prices", Mode: lockrt.Read}}
	return s.locks.DoEach(ctx, keys, lockrt.Options{}, func(ctx context.Context, _ lockrt.Leases) error {
		_, err := s.db.ExecContext(ctx, "INSERT INTO products VALUES (1)") // want `LL1018`
		return err
	})
}

// Fine: locks that are held alone, one of several, a section within, what readers leave behind, modes from elsewhere.

//lock:key=catalog:{tenant},ttl=30s
func (s *shop) importLocked(ctx context.Context, tenant string) error {
	_, err := s.db.ExecContext(ctx, "UPDATE products SET price = 1 WHERE tenant = ?", tenant)
	return err
}

//lock:key=catalog,mode=read,ttl=30s
//lock:key=order:{id}
func (s *shop) orderLocked(ctx context.Context, id string) error {
	_, err := s.db.ExecContext(ctx, "INSERT INTO orders VALUES (?)", id)
	return err
}

func (s *shop) oneOfTwo(ctx context.Context) error {
	keys := []lockrt.KeyOptions{{Key: "catalog", Mode: lockrt.Read}, {Key: "order"}}
	return s.locks.DoEach(ctx, keys, lockrt.Options{}, func(ctx context.Context, _ lockrt.Leases) error {
		_, err := s.db.ExecContext(ctx, "INSERT INTO orders VALUES (1)")
		return err
	})
}

func (s *shop) within(ctx context.Context) error {
	lease, err := s.locks.Acquire(ctx, "catalog", reading)
	if err != nil {
		return err
	}
	defer lease.Release(ctx)
	order, err := s.locks.Acquire(ctx, "order", lockrt.Options{})
	if err != nil {
		return err
	}
	defer order.Release(ctx)
	return s.store(ctx)
}

//lock:key=catalog,mode=read,ttl=30s
func (s *shop) notesLocked(ctx context.Context) error {
	s.rdb.Incr(ctx, "catalog:readers")
	s.rdb.Set(ctx, "catalog:last_read", 1, 0)
	_, err := s.db.ExecContext(ctx, "INSERT INTO audit_log VALUES (1)")
	return err
}

func (s *shop) fromElsewhere(ctx context.Context, mode lockrt.Mode, o lockrt.Options) error {
	err := s.locks.Do(ctx, "catalog", lockrt.Options{Mode: mode}, func(ctx context.Context, _ *lockrt.Lease) error {
		return s.store(ctx)
	})
	if err != nil {
		return err
	}
	return s.locks.Do(ctx, "catalog", o, func(ctx context.Context, _ *lockrt.Lease) error { return s.store(ctx) })
}
