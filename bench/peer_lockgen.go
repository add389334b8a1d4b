package main

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/redisstore"
)

// This library with its defaults, and once more in strict order of arrival over all processes: no lease passes from one
// caller to the next within a process.
var (
	lockgenDefault = contender{name: "lockgen", open: func(at address) (locks, error) { return openLockgen(at, 0, redisstore.Config{}) }}
	lockgenStrict  = contender{name: "lockgen-fifo", open: func(at address) (locks, error) { return openLockgen(at, -1, redisstore.Config{}) }}
)

type lockgenLocks struct {
	client *redis.Client
	locker *lockrt.Locker
	ttl    time.Duration
}

func openLockgen(at address, handoffs int, cfg redisstore.Config) (*lockgenLocks, error) {
	client := at.goRedis()
	locker, err := lockrt.New(redisstore.New(client, cfg), lockrt.Config{Node: "bench", LocalHandoffs: handoffs})
	if err != nil {
		return nil, errors.Join(err, client.Close())
	}
	return &lockgenLocks{client: client, locker: locker, ttl: leaseTime}, nil
}

func (l *lockgenLocks) acquire(ctx context.Context, key string) (*lockrt.Lease, error) {
	return l.locker.Acquire(ctx, key, lockrt.Options{TTL: l.ttl, Wait: lockrt.Forever})
}

func (l *lockgenLocks) lock(ctx context.Context, key string) (func(context.Context) error, error) {
	lease, err := l.acquire(ctx, key)
	if err != nil {
		return nil, err
	}
	return lease.Release, nil
}

func (l *lockgenLocks) close() error {
	return errors.Join(l.locker.Close(context.Background()), l.client.Close())
}
