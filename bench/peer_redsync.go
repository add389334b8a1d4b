package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
)

// redsync as its README shows it: one pool on go-redis, default delay between tries (random, 50 to 250 ms; a shorter one
// makes it slower here, because each failed try costs two commands). Its 32 tries are begun again until the lock is
// there, as the documentation of Lock allows; only then does its error mean anything else than "busy".
var redsyncPeer = contender{name: "redsync", peer: true, open: func(at address) (locks, error) {
	client := at.goRedis()
	return &redsyncLocks{client, redsync.New(goredis.NewPool(client))}, nil
}}

type redsyncLocks struct {
	client *redis.Client
	sync   *redsync.Redsync
}

func (r *redsyncLocks) lock(ctx context.Context, key string) (func(context.Context) error, error) {
	mutex := r.sync.NewMutex(key, redsync.WithExpiry(leaseTime))
	for {
		err := mutex.LockContext(ctx)
		var taken *redsync.ErrTaken
		switch {
		case err == nil:
			return func(ctx context.Context) error { return redsyncUnlock(ctx, mutex) }, nil
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case !errors.As(err, &taken) && !errors.Is(err, redsync.ErrFailed):
			return nil, err
		}
	}
}

func redsyncUnlock(ctx context.Context, mutex *redsync.Mutex) error {
	ok, err := mutex.UnlockContext(ctx)
	if err == nil && !ok {
		return fmt.Errorf("release %q: redsync says it was not held", mutex.Name())
	}
	return err
}

func (r *redsyncLocks) close() error { return r.client.Close() }
