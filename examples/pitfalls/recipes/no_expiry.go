package recipes

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/lockgen/lockgen/examples/pitfalls/internal/lab"
)

// noExpiry is a lock that ends only when its holder releases it. In a program that
// is how a mutex works: if the holder dies, the waiters die with it. In Redis the
// waiters live on.
//
//	A: SETNX lock a    → 1, A has the lock
//	A: crashes, is killed for its memory, is scaled down …
//	B: SETNX lock b    → 0, and so for ever
//
// Somebody then deletes the key by hand, at 03:00, hoping that A is really gone.
type noExpiry struct {
	rdb *redis.Client
	key string
}

func (l noExpiry) TryLock(ctx context.Context, token string) (bool, error) {
	//locklint:ignore LL2007 this is what the recipe shows
	return l.rdb.SetNX(ctx, l.key, token, 0).Result()
}

func (l noExpiry) Unlock(ctx context.Context, token string) error {
	return compareAndDelete.Run(ctx, l.rdb, []string{l.key}, token).Err()
}

// crashWithoutExpiry lets A crash with the lock in its hands: it does send its
// release, but that does not arrive.
func crashWithoutExpiry(ctx context.Context, l *lab.Lab) (Outcome, error) {
	key := l.Key("mail")
	a, b := l.Client(), l.Client()
	if won, err := (noExpiry{a.Client, key}).TryLock(ctx, "a"); err != nil || !won {
		return notTaken("A", err)
	}
	a.Cut()
	if err := (noExpiry{a.Client, key}).Unlock(ctx, "a"); err == nil {
		return Outcome{}, fmt.Errorf("A did not crash")
	}
	won, err := noExpiry{b.Client, key}.TryLock(ctx, "b")
	if err != nil {
		return Outcome{}, err
	}
	return endless(l, key, won, "the lock of a dead holder stays until somebody deletes the key by hand")
}
