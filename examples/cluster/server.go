package main

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockgen/lockgen/examples/internal/cli"
)

// reachTimeout bounds what is asked of a server that may not answer.
const reachTimeout = 4 * time.Second

// reach connects to the server and waits for an answer.
func reach(ctx context.Context, store string) (*redis.Client, error) {
	opts, err := redis.ParseURL(store)
	if err != nil {
		return nil, cli.FlagError(
			"-store is not a URL that the Redis client understands; write redis://[:password@]host:port/db")
	}
	opts.ContextTimeoutEnabled = true
	client := redis.NewClient(opts)
	ctx, cancel := context.WithTimeout(ctx, reachTimeout)
	defer cancel()
	if err := client.Ping(ctx).Err(); err != nil {
		client.Close()
		return nil, fmt.Errorf(
			"cannot reach Redis at %s: %w (is the server running, and are address and password of -store right?)",
			opts.Addr, err)
	}
	return client, nil
}

// forget removes what the nodes left under their namespace. Without it, it would be kept for
// as long as a real cluster may be away.
func forget(client *redis.Client, namespace string) error {
	ctx, cancel := context.WithTimeout(context.Background(), reachTimeout)
	defer cancel()
	keys := client.Scan(ctx, 0, namespace+":*", 0).Iterator()
	for keys.Next(ctx) {
		if err := client.Unlink(ctx, keys.Val()).Err(); err != nil {
			return fmt.Errorf("remove %s from Redis: %w", keys.Val(), err)
		}
	}
	if err := keys.Err(); err != nil {
		return fmt.Errorf("remove %s:* from Redis: %w", namespace, err)
	}
	return nil
}
