package recipes

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockgen/lockgen/examples/pitfalls/internal/lab"
)

// plainDel takes the lock as it should be taken, and releases it with DEL, whoever
// has it by then.
//
//	A: SET lock a NX PX 30000   → OK; A works for 40 s
//	   30 s later the lock has expired, which nobody tells A
//	B: SET lock b NX PX 30000   → OK: A and B work side by side
//	A: DEL lock                 removes B's lock
//	C: SET lock c NX PX 30000   → OK: B and C work side by side
//	B: DEL lock                 … and so on: once late, always late
//
// A longer TTL makes it rarer and every crash more expensive.
type plainDel struct {
	rdb *redis.Client
	key string
}

func (l plainDel) TryLock(ctx context.Context, token string, ttl time.Duration) (bool, error) {
	return l.rdb.SetNX(ctx, l.key, token, ttl).Result()
}

func (l plainDel) Unlock(ctx context.Context) error {
	//locklint:ignore LL2002 this is what the recipe shows
	return l.rdb.Del(ctx, l.key).Err()
}

// longJob stops when two are inside.
func longJob(ctx context.Context, l *lab.Lab) (Outcome, error) {
	key := l.Key("report")
	a, b := plainDel{l.Client().Client, key}, plainDel{l.Client().Client, key}
	if won, err := a.TryLock(ctx, "a", 30*time.Second); err != nil || !won {
		return notTaken("A", err)
	}
	if err := l.RunOut(key); err != nil {
		return Outcome{}, err
	}
	won, err := b.TryLock(ctx, "b", 30*time.Second)
	if err != nil || !won {
		return notTaken("B", err)
	}
	return failed("A's lock ran out during its work, which A does not know: B works beside it")
}

// lateDel goes on from there.
func lateDel(ctx context.Context, l *lab.Lab) (Outcome, error) {
	if o, err := longJob(ctx, l); err != nil || o.Safe {
		return o, err
	}
	key := l.Key("report")
	a, c := plainDel{l.Client().Client, key}, plainDel{l.Client().Client, key}
	if err := a.Unlock(ctx); err != nil {
		return Outcome{}, err
	}
	won, err := c.TryLock(ctx, "c", 30*time.Second)
	if err != nil || !won {
		return notTaken("C", err)
	}
	return failed("A's DEL removed B's lock: C works beside B")
}

// notTaken ends a scenario that depends on a lock that was not taken.
func notTaken(name string, err error) (Outcome, error) {
	if err != nil {
		return Outcome{}, err
	}
	return safe("%s did not get the lock", name)
}
