package general

import (
	"context"
	"crypto/rand"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"
)

var release = redis.NewScript(`if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) end return 0`)

// A lock that says by an error that somebody else has it.
type Mutex struct {
	rdb        *redis.Client
	key, token string
}

func (m *Mutex) Lock(ctx context.Context) error {
	ok, err := m.rdb.SetNX(ctx, m.key, m.token, time.Minute).Result()
	if err != nil {
		return err
	}
	if !ok {
		return errors.New("somebody else has it")
	}
	return nil
}

func (m *Mutex) Unlock(ctx context.Context) error {
	return release.Run(ctx, m.rdb, []string{m.key}, m.token).Err()
}

func work() error { return nil }

func dropped(ctx context.Context, m *Mutex) error {
	m.Lock(ctx) // want `LL2001: the outcome of SetNX \(through Mutex.Lock\) is ignored`
	defer m.Unlock(ctx)
	return work()
}

func spins(ctx context.Context, m *Mutex) error {
	for m.Lock(ctx) != nil { // want `LL2010`
	}
	defer m.Unlock(ctx)
	return work()
}

func asks(ctx context.Context, m *Mutex) error {
	if err := m.Lock(ctx); err != nil {
		return err
	}
	defer m.Unlock(ctx)
	return work()
}

// An error that is nil when somebody else has the key says nothing of the lock, and dropping it nothing either.
type Once struct {
	rdb *redis.Client
	key string
}

func (o *Once) Mark(ctx context.Context) error {
	ok, err := o.rdb.SetNX(ctx, o.key, 1, time.Hour).Result()
	if err != nil || !ok {
		return err
	}
	return nil
}

func marks(ctx context.Context, o *Once) { o.Mark(ctx) }

// Fine: the loop tries again where the command has failed, not where somebody else has the lock.

type own struct{ key, token string }

func tryOften(ctx context.Context, rdb *redis.Client, key string, tries uint) (own, error) {
	l := own{key, rand.Text()}
	for tried := uint(0); tried < tries; tried++ {
		ok, err := rdb.SetNX(ctx, l.key, l.token, time.Minute).Result()
		if err == nil {
			if ok {
				return l, nil
			}
			return l, errors.New("busy")
		}
	}
	return own{}, errors.New("failed")
}

func (l *own) Unlock(ctx context.Context, rdb *redis.Client) error {
	of, err := rdb.Get(ctx, l.key).Result()
	if err != nil {
		return err
	}
	if of != l.token {
		return errors.New("not ours")
	}
	return rdb.Del(ctx, l.key).Err() // want `LL2004`
}
