// Package quiet has shapes that look like broken locks and are none, or whose fault is told elsewhere.
package quiet

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

// A function that takes a key and ends it itself is done with it: its callers make up no lock of their own.

type alerts struct {
	rdb  *redis.Client
	send func(string) error
}

func work() error { return nil }

// once tells a person once a day, and may do so again when nobody could be told.
func (a *alerts) once(ctx context.Context, key, text string) error {
	first, err := a.rdb.SetNX(ctx, key, "1", 24*time.Hour).Result()
	if err != nil || !first {
		return err
	}
	if err := a.send(text); err != nil {
		a.rdb.Del(ctx, key)
		return err
	}
	return nil
}

func (a *alerts) tellTwice(ctx context.Context, user string) error {
	if err := a.once(ctx, "alert:"+user, "disk"); err != nil {
		return err
	}
	return a.once(ctx, "alert:"+user, "memory")
}

func (a *alerts) tellAll(ctx context.Context, users []string) {
	for _, user := range users {
		a.once(ctx, "lock:alert:"+user, "disk")
	}
	a.once(ctx, "lock:alert:"+users[0], "done")
}

const compareAndDelete = `if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("DEL", KEYS[1]) end return 0`

type leader struct {
	rdb *redis.Client
	id  string
}

// exclusively runs something under a lock of its own, which is right.
func (l *leader) exclusively(ctx context.Context, key, token string, f func() error) (bool, error) {
	ok, err := l.rdb.SetNX(ctx, key, token, time.Minute).Result()
	if err != nil || !ok {
		return false, err
	}
	defer l.rdb.Eval(ctx, compareAndDelete, []string{key}, token)
	return true, f()
}

func (l *leader) both(ctx context.Context, token string) error {
	if _, err := l.exclusively(ctx, "lock:reports", token, work); err != nil {
		return err
	}
	_, err := l.exclusively(ctx, "lock:reports", token, work)
	return err
}

// stillMine asks, and gives up what it no longer wants: each call is a step of its own.
func (l *leader) stillMine(ctx context.Context, key string) bool {
	owner, err := l.rdb.Get(ctx, key).Result()
	return err == nil && owner == l.id
}

func (l *leader) stepDown(ctx context.Context, key string) {
	l.rdb.Eval(ctx, compareAndDelete, []string{key}, l.id)
}

func (l *leader) lead(ctx context.Context, stop <-chan struct{}) error {
	key := "lock:leader"
	ok, err := l.rdb.SetNX(ctx, key, l.id, time.Minute).Result()
	if err != nil || !ok {
		return err
	}
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			if !l.stillMine(ctx, key) {
				return nil
			}
		case <-stop:
			l.stepDown(ctx, key)
			return nil
		}
	}
}
