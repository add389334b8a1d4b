package recipes

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockgen/lockgen/examples/pitfalls/internal/lab"
)

// seconds passes a number of seconds where a time.Duration is wanted, which counts
// nanoseconds. The compiler is content: 30 is a constant and becomes whatever it
// has to be. go-redis makes the shortest expiry of it that Redis knows.
//
//	A: SET lock a NX PX 1    → OK
//	   a millisecond later the lock is free again, and A has only begun
//	B: SET lock b NX PX 1    → OK
//
// 30*time.Second is what was meant. The opposite happens as well: time.Duration(s)*
// time.Second, where s is a Duration already, overflows.
type seconds struct {
	rdb *redis.Client
	key string
}

func (l seconds) TryLock(ctx context.Context, token string) (bool, error) {
	//locklint:ignore LL2006 this is what the recipe shows
	return l.rdb.SetNX(ctx, l.key, token, 30).Result()
}

func (l seconds) Unlock(ctx context.Context, token string) error {
	return compareAndDelete.Run(ctx, l.rdb, []string{l.key}, token).Err()
}

// overInNoTime needs no bad luck: it waits for the end of the lock, and need not
// wait for long.
func overInNoTime(ctx context.Context, l *lab.Lab) (Outcome, error) {
	key := l.Key("rebuild")
	a, b := seconds{l.Client().Client, key}, seconds{l.Client().Client, key}
	start := time.Now()
	if won, err := a.TryLock(ctx, "a"); err != nil || !won {
		return notTaken("A", err)
	}
	if err := l.Gone(key); err != nil {
		return Outcome{}, err
	}
	if over := time.Since(start); over > 25*time.Second {
		return safe("the lock lasted %s", over)
	}
	if won, err := b.TryLock(ctx, "b"); err != nil || !won {
		return notTaken("B", err)
	}
	return failed("the lock \"for 30 s\" was over after a millisecond: B works beside A")
}
