// Package lockers locks, through functions of its own, what it is given, and has a lock by hand with a context.
package lockers

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/go-redsync/redsync/v4"
	"github.com/redis/go-redis/v9"
)

// Lock does not return without the lock.
func Lock(ctx context.Context, m *redsync.Mutex) {
	if err := m.LockContext(ctx); err != nil {
		log.Panic(err)
	}
}

func TryLock(ctx context.Context, m *redsync.Mutex) error { return m.TryLockContext(ctx) }

// LockNamed says by its error which mutex it was.
func LockNamed(ctx context.Context, m *redsync.Mutex) error {
	if err := m.LockContext(ctx); err != nil {
		return fmt.Errorf("lock %s: %w", m.Name(), err)
	}
	log.Print("locked until ", m.Until())
	return nil
}

// LockLogged returns without the lock, too.
func LockLogged(ctx context.Context, m *redsync.Mutex) {
	if err := m.LockContext(ctx); err != nil {
		log.Print(err)
	}
}

func Unlock(ctx context.Context, m *redsync.Mutex) {
	if ok, err := m.UnlockContext(ctx); !ok || err != nil {
		log.Print(err)
	}
}

func UnlockDetached(ctx context.Context, m *redsync.Mutex) {
	if ok, err := m.UnlockContext(context.WithoutCancel(ctx)); !ok || err != nil {
		log.Print(err)
	}
}

var compareAndDelete = redis.NewScript(`if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) end return 0`)

// A Locker is a lock by hand.
type Locker struct{ rdb *redis.Client }

func (l *Locker) Acquire(ctx context.Context, key, token string) (bool, error) {
	return l.rdb.SetNX(ctx, key, token, time.Minute).Result()
}

func (l *Locker) Release(ctx context.Context, key, token string) error {
	return compareAndDelete.Run(ctx, l.rdb, []string{key}, token).Err()
}

func (l *Locker) ReleaseDetached(ctx context.Context, key, token string) error {
	return compareAndDelete.Run(context.WithoutCancel(ctx), l.rdb, []string{key}, token).Err()
}

var ErrBusy = errors.New("busy")

// A Handle is a lock by hand, with its key inside.
type Handle struct {
	rdb        *redis.Client
	key, token string
}

func (h *Handle) Lock(ctx context.Context) error {
	ok, err := h.rdb.SetNX(ctx, h.key, h.token, time.Minute).Result()
	if err != nil {
		return err
	}
	if !ok {
		return ErrBusy
	}
	return nil
}

func (h *Handle) Unlock(ctx context.Context) error {
	return compareAndDelete.Run(ctx, h.rdb, []string{h.key}, h.token).Err()
}
