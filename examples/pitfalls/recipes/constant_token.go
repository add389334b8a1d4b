package recipes

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockgen/lockgen/examples/pitfalls/internal/lab"
)

// constantToken has everything: one command to acquire, an expiry, a script that
// compares before it deletes. But everybody writes the same value, so that the
// comparison is always true. The name of the host or of the service, or the id
// of a user, are no better where several requests share them.
//
//	A: SET lock locked NX PX 30000   → OK; runs out
//	B: SET lock locked NX PX 30000   → OK
//	A: script: GET lock = locked? yes: DEL lock
//	C: SET lock locked NX PX 30000   → OK: B and C work side by side
//
// A token has to be new for every acquisition: a random number will do.
type constantToken struct {
	rdb *redis.Client
	key string
}

func (l constantToken) TryLock(ctx context.Context, ttl time.Duration) (bool, error) {
	//locklint:ignore LL2003 this is what the recipe shows
	return l.rdb.SetNX(ctx, l.key, "locked", ttl).Result()
}

func (l constantToken) Unlock(ctx context.Context) error {
	return compareAndDelete.Run(ctx, l.rdb, []string{l.key}, "locked").Err()
}

// anyoneReleases lets A release late, properly.
func anyoneReleases(ctx context.Context, l *lab.Lab) (Outcome, error) {
	key := l.Key("coupon")
	a, b := constantToken{l.Client().Client, key}, constantToken{l.Client().Client, key}
	c := constantToken{l.Client().Client, key}
	//locklint:ignore LL3003 where the laboratory fails its server goes, with the lock
	if won, err := a.TryLock(ctx, 30*time.Second); err != nil || !won {
		return notTaken("A", err)
	}
	if err := l.RunOut(key); err != nil {
		return Outcome{}, err
	}
	if won, err := b.TryLock(ctx, 30*time.Second); err != nil || !won {
		return notTaken("B", err)
	}
	if err := a.Unlock(ctx); err != nil {
		return Outcome{}, err
	}
	won, err := c.TryLock(ctx, 30*time.Second)
	if err != nil || !won {
		return notTaken("C", err)
	}
	return failed("A took B's token for its own and deleted B's lock: C works beside B")
}
