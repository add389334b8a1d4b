package recipes

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockgen/lockgen/examples/pitfalls/internal/lab"
)

// watchdogLock renews its lock while the work goes on, so that no job is too long.
// The renewal does not look whose lock it renews.
//
//	A: SET lock a NX PX 30000; EXPIRE lock 30 every ten seconds
//	   A's process is paused for a minute; its lock expires
//	B: SET lock b NX PX 30000     → OK
//	A: goes on: EXPIRE lock 30    → 1, so all is well, it thinks
//	   A and B work side by side, and if B dies, A keeps B's lock alive for ever
//
// A renewal has to compare the token, in one script, and tell the work when the
// lock is somebody else's.
type watchdogLock struct {
	rdb *redis.Client
	key string
}

func (l watchdogLock) TryLock(ctx context.Context, token string, ttl time.Duration) (bool, error) {
	return l.rdb.SetNX(ctx, l.key, token, ttl).Result()
}

// KeepAlive runs until ctx ends, beside the work.
func (l watchdogLock) KeepAlive(ctx context.Context, ttl, every time.Duration) error {
	for {
		//locklint:ignore LL2008 this is what the recipe shows
		if err := l.rdb.Expire(ctx, l.key, ttl).Err(); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(every):
		}
	}
}

func (l watchdogLock) Unlock(ctx context.Context, token string) error {
	return compareAndDelete.Run(ctx, l.rdb, []string{l.key}, token).Err()
}

// outlivesItsLock holds A's watchdog up until B has the lock.
func outlivesItsLock(ctx context.Context, l *lab.Lab) (Outcome, error) {
	ac := l.Client()
	a, b := watchdogLock{ac.Client, l.Key("sync")}, watchdogLock{l.Client().Client, l.Key("sync")}
	if won, err := a.TryLock(ctx, "a", 30*time.Second); err != nil || !won {
		return notTaken("A", err)
	}
	work, done := context.WithCancel(ctx)
	defer done()
	pause := ac.PauseBefore("expire")
	watchdog := lab.Go(l, func() (bool, error) { return false, a.KeepAlive(work, time.Hour, time.Minute) })
	if err := pause.Reached(ctx); err != nil {
		return Outcome{}, err
	}
	if err := l.RunOut(a.key); err != nil {
		return Outcome{}, err
	}
	if won, err := b.TryLock(ctx, "b", 30*time.Second); err != nil || !won {
		return notTaken("B", err)
	}
	before, err := l.Expiry(b.key)
	if err != nil {
		return Outcome{}, err
	}
	pause.Resume()
	if err := l.Until("A's watchdog has moved the end of B's lock", func() (bool, error) {
		select {
		case r := <-watchdog:
			return true, r.Err
		default:
		}
		after, err := l.Expiry(b.key)
		return after > before, err
	}); err != nil {
		return Outcome{}, err
	}
	return failed("A's watchdog renews B's lock and is content: A works on beside B")
}
