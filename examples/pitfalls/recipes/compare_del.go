package recipes

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockgen/lockgen/examples/pitfalls/internal/lab"
)

// compareDel mends plainDel: it deletes the lock only if the token in it is its own.
// It looks and deletes in two commands.
//
//	A: GET lock                 → a, its own
//	   A is held up; its lock expires
//	B: SET lock b NX PX 30000   → OK
//	A: DEL lock                 removes B's lock
//	C: SET lock c NX PX 30000   → OK: B and C work side by side
//
// The window is small and the load decides how often somebody falls into it.
// Comparing and deleting has to be one step: a script, or WATCH and MULTI.
type compareDel struct {
	rdb *redis.Client
	key string
}

func (l compareDel) TryLock(ctx context.Context, token string, ttl time.Duration) (bool, error) {
	return l.rdb.SetNX(ctx, l.key, token, ttl).Result()
}

func (l compareDel) Unlock(ctx context.Context, token string) error {
	owner, err := l.rdb.Get(ctx, l.key).Result()
	if errors.Is(err, redis.Nil) {
		return nil
	}
	if err != nil {
		return err
	}
	if owner == token {
		//locklint:ignore LL2004 this is what the recipe shows
		return l.rdb.Del(ctx, l.key).Err()
	}
	return nil
}

// expiryBeforeDel holds A up between its two commands.
func expiryBeforeDel(ctx context.Context, l *lab.Lab) (Outcome, error) {
	ac := l.Client()
	a := compareDel{ac.Client, l.Key("balance")}
	b, c := compareDel{l.Client().Client, a.key}, compareDel{l.Client().Client, a.key}
	if won, err := a.TryLock(ctx, "a", 30*time.Second); err != nil || !won {
		return notTaken("A", err)
	}
	del := ac.PauseBefore("del")
	released := lab.Go(l, func() (bool, error) { return true, a.Unlock(ctx, "a") })
	if err := del.Reached(ctx); err != nil {
		return Outcome{}, err
	}
	if err := l.RunOut(a.key); err != nil {
		return Outcome{}, err
	}
	if won, err := b.TryLock(ctx, "b", 30*time.Second); err != nil || !won {
		return notTaken("B", err)
	}
	del.Resume()
	if r := <-released; r.Err != nil {
		return Outcome{}, r.Err
	}
	won, err := c.TryLock(ctx, "c", 30*time.Second)
	if err != nil || !won {
		return notTaken("C", err)
	}
	return failed("A compared its own token and deleted B's lock: C works beside B")
}
