package locks

import (
	"context"
	"sync"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
)

// A Bounded gives up after a while: its results are variables, because it defers something.
type Bounded struct {
	mu *redsync.Mutex
	at time.Time
}

func (b *Bounded) TryLock(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	if err := b.mu.LockContext(ctx); err != nil {
		return false
	}
	b.at = time.Now()
	return true
}

func (b *Bounded) Unlock() bool {
	ok, err := b.mu.Unlock()
	return ok && err == nil
}

// An Exclusive has a twin that needs no Redis.
type Exclusive interface {
	TryLock(ctx context.Context) bool
	Unlock() bool
}

type local struct{ mu sync.Mutex }

func (l *local) TryLock(context.Context) bool { return l.mu.TryLock() }
func (l *local) Unlock() bool                 { l.mu.Unlock(); return true }

// A Polite says by its flag that somebody else has the lock, and by its error that nobody knows.
type Polite struct{ mu *redsync.Mutex }

func (p *Polite) TryLock(ctx context.Context) (bool, error) {
	if err := p.mu.TryLockContext(ctx); err != nil {
		if err == redsync.ErrFailed {
			return false, nil
		}
		return false, err
	}
	return true, nil
}

func (p *Polite) Unlock(ctx context.Context) error {
	_, err := p.mu.UnlockContext(ctx)
	return err
}

// Fetch defers, too, and hands the lock out.
func Fetch(ctx context.Context, client *redislock.Client) (*redislock.Lock, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	lock, err := client.Obtain(ctx, "a", time.Minute, nil)
	if err != nil {
		return nil, err
	}
	return lock, nil
}
