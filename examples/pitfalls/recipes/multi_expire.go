package recipes

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockgen/lockgen/examples/pitfalls/internal/lab"
)

// multiExpire mends setnxExpire with a transaction: no crash can come between
// SETNX and EXPIRE. But MULTI is not "if": EXPIRE also runs when SETNX has failed.
//
//	A: MULTI; SETNX lock a → 1; EXPIRE lock 60; EXEC      A has the lock for 60 s
//	A: crashes
//	B: MULTI; SETNX lock b → 0; EXPIRE lock 60; EXEC      the 60 s begin again
//	   … and with every try of anybody. While somebody wants the lock, it never ends
type multiExpire struct {
	rdb *redis.Client
	key string
}

func (l multiExpire) TryLock(ctx context.Context, token string, ttl time.Duration) (bool, error) {
	var set *redis.BoolCmd
	_, err := l.rdb.TxPipelined(ctx, func(p redis.Pipeliner) error {
		//locklint:ignore LL2005 this is what the recipe shows
		set = p.SetNX(ctx, l.key, token, 0)
		p.Expire(ctx, l.key, ttl)
		return nil
	})
	if err != nil {
		return false, err
	}
	return set.Val(), nil
}

func (l multiExpire) Unlock(ctx context.Context, token string) error {
	return compareAndDelete.Run(ctx, l.rdb, []string{l.key}, token).Err()
}

// losersRearm compares the moment at which the lock ends before and after a try of B.
func losersRearm(ctx context.Context, l *lab.Lab) (Outcome, error) {
	key := l.Key("import")
	a, b := multiExpire{l.Client().Client, key}, multiExpire{l.Client().Client, key}
	return pushed(l, key, func(name string) (bool, error) {
		if name == "a" {
			return a.TryLock(ctx, name, time.Minute)
		}
		return b.TryLock(ctx, name, time.Minute)
	})
}

// pushed lets A take the lock, and tells by how much a try of B puts off its end.
func pushed(l *lab.Lab, key string, try func(name string) (bool, error)) (Outcome, error) {
	if won, err := try("a"); err != nil || !won {
		return notTaken("A", err)
	}
	before, err := l.Expiry(key)
	if err != nil {
		return Outcome{}, err
	}
	if err := l.Later(); err != nil {
		return Outcome{}, err
	}
	won, err := try("b")
	if err != nil {
		return Outcome{}, err
	}
	after, err := l.Expiry(key)
	if err != nil {
		return Outcome{}, err
	}
	if won || after <= before {
		return safe("B's try changed nothing")
	}
	return failed("B's failed try put off the end of A's lock: while others try, a dead holder keeps it")
}
