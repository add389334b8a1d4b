package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// The hand-written lock: SET NX PX with a random token, and a script that deletes the key if it still holds that token.
// Two commands and nothing else, so alone on its key it is the floor that a library is compared with. Contended it
// sleeps between two tries; 200 ms is what the article on flash sales found to be its best.
var (
	rawFloor = contender{name: "raw", open: func(at address) (locks, error) { return &raw{at.goRedis(), 10 * time.Millisecond}, nil }}
	rawSleep = contender{name: "raw-200ms", open: func(at address) (locks, error) { return &raw{at.goRedis(), 200 * time.Millisecond}, nil }}
)

type raw struct {
	client *redis.Client
	sleep  time.Duration
}

var compareAndDelete = redis.NewScript(`if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("DEL", KEYS[1]) end return 0`)

func (r *raw) lock(ctx context.Context, key string) (func(context.Context) error, error) {
	token := rand.Text()
	var retry *time.Timer
	for {
		err := r.client.SetArgs(ctx, key, token, redis.SetArgs{Mode: "NX", TTL: leaseTime}).Err()
		switch {
		case err == nil:
			return func(ctx context.Context) error { return r.unlock(ctx, key, token) }, nil
		case !errors.Is(err, redis.Nil):
			return nil, err
		}
		if retry == nil {
			retry = time.NewTimer(r.sleep)
			defer retry.Stop()
		} else {
			retry.Reset(r.sleep)
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-retry.C:
		}
	}
}

func (r *raw) unlock(ctx context.Context, key, token string) error {
	deleted, err := compareAndDelete.Run(ctx, r.client, []string{key}, token).Int()
	if err == nil && deleted != 1 {
		return fmt.Errorf("release %q: the key holds another token", key)
	}
	return err
}

func (r *raw) close() error { return r.client.Close() }
