package recipes

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockgen/lockgen/examples/pitfalls/internal/lab"
)

// ignored asks for the lock and does not listen to the answer. It happens when the
// error is checked and the boolean beside it looks redundant: SETNX of a key
// that exists is no error.
//
//	A: SET lock a NX PX 30000   → OK,  A goes on
//	B: SET lock b NX PX 30000   → nil, B goes on
//
// The lock protects nothing and passes every test with one client.
type ignored struct {
	rdb *redis.Client
	key string
}

func (l ignored) Lock(ctx context.Context, token string, ttl time.Duration) error {
	//locklint:ignore LL2001 this is what the recipe shows
	return l.rdb.SetNX(ctx, l.key, token, ttl).Err()
}

func (l ignored) Unlock(ctx context.Context, token string) error {
	return compareAndDelete.Run(ctx, l.rdb, []string{l.key}, token).Err()
}

// bothGoOn lets B come while A works.
func bothGoOn(ctx context.Context, l *lab.Lab) (Outcome, error) {
	key := l.Key("payout")
	a, b := ignored{l.Client().Client, key}, ignored{l.Client().Client, key}
	if err := a.Lock(ctx, "a", time.Minute); err != nil {
		return Outcome{}, err
	}
	if err := b.Lock(ctx, "b", time.Minute); err != nil {
		return safe("B was refused: %v", err)
	}
	return failed("A and B both work: B never looked whether it got the lock")
}
