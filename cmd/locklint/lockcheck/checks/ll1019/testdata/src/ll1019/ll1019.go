package ll1019

import (
	"context"
	"database/sql"

	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/fence"
	"github.com/lockgen/lockgen/runtime/fence/redisfence"
)

type shop struct {
	locks *lockrt.Locker
	tx    *sql.Tx
	guard fence.SQL
	redis redisfence.Redis
}

//lock:fenced
func charge(ctx context.Context, f lockrt.Fence, cents int) error { return nil }

//lock:key=catalog,mode=read,ttl=30s
func (s *shop) findLocked(ctx context.Context, f lockrt.Fence) error {
	if err := s.guard.Guard(ctx, s.tx, "catalog", f); err != nil { // want `LL1019: s.guard.Guard lets a write pass by the fence of the lock from the wrapper find at line 23, which is held to read`
		return err
	}
	return charge(ctx, f, 5) // want `LL1019: charge lets a write pass`
}

func (s *shop) inDo(ctx context.Context) error {
	return s.locks.Do(ctx, "catalog", lockrt.Options{Mode: lockrt.Read}, func(ctx context.Context, l *lockrt.Lease) error {
		if err := s.guard.GuardLease(ctx, s.tx, "catalog"); err != nil { // want `LL1019`
			return err
		}
		return s.redis.Do(ctx, "catalog", l.Fence(), "SET", "catalog", 1) // want `LL1019`
	})
}

// Fine: who holds the lock alone, or one of several alone.

//lock:key=catalog,ttl=30s
func (s *shop) importLocked(ctx context.Context, f lockrt.Fence) error {
	return s.guard.Guard(ctx, s.tx, "catalog", f)
}

//lock:key=catalog,mode=read,ttl=30s
//lock:key=order:{id}
func (s *shop) orderLocked(ctx context.Context, id string, c, o lockrt.Fence) error {
	return s.guard.Guard(ctx, s.tx, "order", o)
}

//lock:key=catalog,mode=read,ttl=30s
func (s *shop) readsLocked(ctx context.Context, f lockrt.Fence) (lockrt.Fence, error) { return f, nil }
