package recipes

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockgen/lockgen/examples/pitfalls/internal/lab"
)

// incrLock counts who is inside: whoever makes the counter 1 has the lock. It fails
// in two ways.
//
//	A: INCR lock → 1; EXPIRE lock 60     A has the lock for 60 s, and crashes
//	B: INCR lock → 2; EXPIRE lock 60     B does not, but the 60 s begin again
//	   … while anybody tries, the lock does not end
//
//	A: INCR lock → 1                     A crashes before its EXPIRE
//	B: INCR lock → 2 … 3 … 4 …           never 1 again
//
// Guarding the EXPIRE with "if n == 1" mends the first and not the second.
type incrLock struct {
	rdb *redis.Client
	key string
}

func (l incrLock) TryLock(ctx context.Context, ttl time.Duration) (bool, error) {
	//locklint:ignore LL2011 this is what the recipe shows
	n, err := l.rdb.Incr(ctx, l.key).Result()
	if err != nil {
		return false, err
	}
	if err := l.rdb.Expire(ctx, l.key, ttl).Err(); err != nil {
		return false, err
	}
	return n == 1, nil
}

func (l incrLock) Unlock(ctx context.Context) error {
	return l.rdb.Del(ctx, l.key).Err()
}

// losersPush compares the moment at which the lock ends before and after a try of B.
func losersPush(ctx context.Context, l *lab.Lab) (Outcome, error) {
	key := l.Key("stock")
	a, b := incrLock{l.Client().Client, key}, incrLock{l.Client().Client, key}
	return pushed(l, key, func(name string) (bool, error) {
		if name == "a" {
			return a.TryLock(ctx, time.Minute)
		}
		return b.TryLock(ctx, time.Minute)
	})
}

// countStays lets A crash between its two commands. B gives up half way as well, as
// a client does whose request was cancelled: it does not repair the expiry.
func countStays(ctx context.Context, l *lab.Lab) (Outcome, error) {
	key := l.Key("stock")
	for _, name := range []string{"A", "B"} {
		c := l.Client()
		c.CrashBefore("expire")
		if _, err := (incrLock{c.Client, key}).TryLock(ctx, time.Second); !errors.Is(err, lab.ErrCut) {
			return Outcome{}, fmt.Errorf("%s did not crash: %w", name, err)
		}
	}
	return endless(l, key, false, "the counter is 2 and has no expiry: it is never 1 again")
}
