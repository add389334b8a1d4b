package recipes

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockgen/lockgen/examples/pitfalls/internal/lab"
)

// setnxExpire is the oldest recipe: SETNX takes the lock, and EXPIRE makes sure that
// it ends even if its holder never releases it. They are two commands:
//
//	A: SETNX lock a    → 1, A has the lock
//	A: crashes; its EXPIRE was never sent
//	B: SETNX lock b    → 0
//	   … and so for everybody, for ever: the lock has no expiry, and the only one
//	   who would have deleted it is gone
//
// One command does both: SET lock token NX PX 30000.
type setnxExpire struct {
	rdb *redis.Client
	key string
}

func (l setnxExpire) TryLock(ctx context.Context, token string, ttl time.Duration) (bool, error) {
	//locklint:ignore LL2005 this is what the recipe shows
	ok, err := l.rdb.SetNX(ctx, l.key, token, 0).Result()
	if err != nil || !ok {
		return false, err
	}
	return true, l.rdb.Expire(ctx, l.key, ttl).Err()
}

func (l setnxExpire) Unlock(ctx context.Context, token string) error {
	return compareAndDelete.Run(ctx, l.rdb, []string{l.key}, token).Err()
}

// crashBeforeExpire lets A crash where only bad luck lets it crash in production.
func crashBeforeExpire(ctx context.Context, l *lab.Lab) (Outcome, error) {
	key := l.Key("invoice")
	a, b := l.Client(), l.Client()
	a.CrashBefore("expire")
	if _, err := (setnxExpire{a.Client, key}).TryLock(ctx, "a", time.Second); !errors.Is(err, lab.ErrCut) {
		return Outcome{}, fmt.Errorf("A did not crash: %w", err)
	}
	won, err := setnxExpire{b.Client, key}.TryLock(ctx, "b", time.Second)
	if err != nil {
		return Outcome{}, err
	}
	return endless(l, key, won, "the lock has no expiry and no holder: nobody gets it any more")
}
