package ll1020

import (
	"context"
	"database/sql"
	"fmt"

	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/fence"
	"github.com/lockgen/lockgen/runtime/fence/redisfence"
)

type farm struct {
	locks *lockrt.Locker
	tx    *sql.Tx
	guard fence.SQL
	redis redisfence.Redis
}

//lock:key=gpu,permits=4,ttl=30s
func (f *farm) renderLocked(ctx context.Context, fence lockrt.Fence) error {
	return f.guard.Guard(ctx, f.tx, "gpu", fence) // want `LL1020: f.guard.Guard guards one name for all holders of a permit from the wrapper render at line 21`
}

func (f *farm) inDo(ctx context.Context, name string, n int) error {
	key := "gpu:" + name
	return f.locks.Do(ctx, key, lockrt.Options{Permits: n}, func(ctx context.Context, l *lockrt.Lease) error {
		if err := f.guard.Guard(ctx, f.tx, key, l.Fence()); err != nil { // want `LL1020`
			return err
		}
		return f.redis.Do(ctx, fmt.Sprintf("gpu:%s", name), l.Fence(), "SET", "frame", 1) // want `LL1020`
	})
}

// Fine: the slot is in the name, the guard finds it, the name is somebody else's business, other kinds of locks.

func (f *farm) withSlot(ctx context.Context, key string) error {
	return f.locks.Do(ctx, key, lockrt.Options{Permits: 4}, func(ctx context.Context, l *lockrt.Lease) error {
		if err := f.guard.Guard(ctx, f.tx, fmt.Sprintf("%s#%d", key, l.Slot()), l.Fence()); err != nil {
			return err
		}
		resource := key + nameOf(l)
		return f.guard.Guard(ctx, f.tx, resource, l.Fence())
	})
}

func nameOf(l *lockrt.Lease) string { return fmt.Sprint("#", l.Slot()) }

//lock:key=gpu,permits=4,ttl=30s
func (f *farm) byLeaseLocked(ctx context.Context) error { return f.guard.GuardLease(ctx, f.tx, "gpu") }

//lock:key=disk,ttl=30s
func (f *farm) aloneLocked(ctx context.Context, fence lockrt.Fence) error {
	return f.guard.Guard(ctx, f.tx, "disk", fence)
}
