package recipes

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockgen/lockgen/examples/pitfalls/internal/lab"
)

// reentrantLock lets a process that has the lock take it again, and counts in its
// own memory how often. The memory does not know that the lock has expired.
//
//	A: SET lock a NX PX 30000   → OK, count 1
//	   30 s later the lock has expired
//	B: SET lock b NX PX 30000   → OK
//	A: takes it again           count 2, without asking Redis: A and B both work
//	A: releases twice           DEL removes B's lock
//
// locklint finds the DEL. That the counter outlives the lock is for people to see.
type reentrantLock struct {
	rdb   *redis.Client
	key   string
	count int
}

func (l *reentrantLock) TryLock(ctx context.Context, token string, ttl time.Duration) (bool, error) {
	if l.count > 0 {
		l.count++
		return true, nil
	}
	won, err := l.rdb.SetNX(ctx, l.key, token, ttl).Result()
	if won {
		l.count = 1
	}
	return won, err
}

func (l *reentrantLock) Unlock(ctx context.Context) error {
	if l.count--; l.count > 0 {
		return nil
	}
	//locklint:ignore LL2002 this is what the recipe shows
	return l.rdb.Del(ctx, l.key).Err()
}

// countsOn lets A call itself when its lock has expired.
func countsOn(ctx context.Context, l *lab.Lab) (Outcome, error) {
	a := &reentrantLock{rdb: l.Client().Client, key: l.Key("ledger")}
	b := &reentrantLock{rdb: l.Client().Client, key: a.key}
	if won, err := a.TryLock(ctx, "a", 30*time.Second); err != nil || !won {
		return notTaken("A", err)
	}
	if err := l.RunOut(a.key); err != nil {
		return Outcome{}, err
	}
	if won, err := b.TryLock(ctx, "b", 30*time.Second); err != nil || !won {
		return notTaken("B", err)
	}
	if won, err := a.TryLock(ctx, "a", 30*time.Second); err != nil || !won {
		return notTaken("A, for the second time,", err)
	}
	return failed("A entered again on its count alone: the lock is B's")
}
