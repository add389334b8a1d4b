package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/lockgen/lockgen/examples/internal/cli"
	"github.com/lockgen/lockgen/jobs"
	jobredis "github.com/lockgen/lockgen/jobs/redisstore"
	"github.com/lockgen/lockgen/jobs/sqlstore"
)

// place is where the jobs are.
type place struct {
	store jobs.Store
	shop  *shop        // nil: an order and its job are in one transaction, which Redis does not have
	close func() error // removes what this run of the example left there, too
}

func openPlace(ctx context.Context, o options, namespace string) (*place, error) {
	if isRedis(o.database()) {
		return openRedis(ctx, o.database(), namespace)
	}
	db, err := openDatabase(ctx, o)
	if err != nil {
		return nil, err
	}
	store := sqlstore.New(db, sqlstore.Config{Namespace: namespace})
	return &place{
		store: store, shop: &shop{db: db, store: store, name: namespace},
		close: func() error { return errors.Join(forget(db, namespace), db.Close()) },
	}, nil
}

const wantRedis = "redis://[:password@]host:port/db"

func isRedis(url string) bool {
	scheme, rest, _ := strings.Cut(url, "://")
	return (scheme == "redis" || scheme == "rediss") && rest != ""
}

func openRedis(ctx context.Context, url, namespace string) (*place, error) {
	client, err := dialRedis(url)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, reachTimeout)
	defer cancel()
	if err := client.Ping(ctx).Err(); err != nil {
		err = fmt.Errorf("cannot reach Redis of -jobs at %s: %w", client.Options().Addr, err)
		return nil, errors.Join(err, client.Close())
	}
	return &place{
		store: jobredis.New(client, namespace),
		close: func() error { return errors.Join(forgetRedis(client, namespace), client.Close()) },
	}, nil
}

// dialRedis returns a client. It does not contact the server.
func dialRedis(url string) (*redis.Client, error) {
	o, err := redis.ParseURL(url)
	if err != nil { // it may show the password
		return nil, cli.FlagError("-jobs is not a URL that the Redis client understands: want " + wantRedis)
	}
	o.ContextTimeoutEnabled = true
	return redis.NewClient(o), nil
}

// forgetRedis is forget for jobs in Redis.
func forgetRedis(client *redis.Client, namespace string) error {
	ctx, cancel := context.WithTimeout(context.Background(), reachTimeout)
	defer cancel()
	keys := client.Scan(ctx, 0, namespace+":*", 0).Iterator()
	for keys.Next(ctx) {
		if err := client.Unlink(ctx, keys.Val()).Err(); err != nil {
			return fmt.Errorf("remove %s from Redis: %w", keys.Val(), err)
		}
	}
	return keys.Err()
}
