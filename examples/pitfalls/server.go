package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockgen/lockgen/examples/internal/cli"
	"github.com/lockgen/lockgen/examples/pitfalls/internal/lab"
	"github.com/lockgen/lockgen/internal/testenv"
)

// reachTimeout bounds what is asked of a server that may not answer.
const reachTimeout = 5 * time.Second

// server is the Redis on which the scenarios take place.
type server struct {
	name    string // for people, without the password
	options *redis.Options
	close   func() error
	prefix  string // of all keys
	labs    atomic.Int64
}

// lab makes one with keys of its own.
func (s *server) lab(ctx context.Context) *lab.Lab {
	return lab.New(ctx, s.options, fmt.Sprintf("%s-%d", s.prefix, s.labs.Add(1)))
}

// openServer connects to the server that the flags name, or starts one.
func (o options) openServer(ctx context.Context) (*server, error) {
	s, err := o.findServer(ctx)
	if err != nil {
		return nil, err
	}
	s.prefix = "pitfalls-" + strings.ToLower(rand.Text()[:8])
	client := redis.NewClient(s.options)
	defer client.Close()
	ctx, cancel := context.WithTimeout(ctx, reachTimeout)
	defer cancel()
	if err := client.Ping(ctx).Err(); err != nil {
		err = fmt.Errorf("cannot reach Redis at %s: %w (is the server running, and are address and password of -redis "+
			"right?)", s.options.Addr, err)
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

func (o options) findServer(ctx context.Context) (*server, error) {
	if o.redis != "" {
		options, err := redis.ParseURL(o.redis)
		if err != nil {
			return nil, cli.FlagError("-redis is not a URL that the Redis client understands")
		}
		options.ContextTimeoutEnabled = true
		return &server{name: "Redis at " + options.Addr, options: options, close: func() error { return nil }}, nil
	}
	started, err := testenv.StartRedis(ctx, testenv.RedisConfig{})
	if errors.Is(err, testenv.ErrNotInstalled) {
		return nil, fmt.Errorf("no redis-server can be started: %w; or name a Redis that runs: -redis redis://host:port/db", err)
	}
	if err != nil {
		return nil, err
	}
	options := &redis.Options{Addr: started.Addr(), ContextTimeoutEnabled: true}
	return &server{name: "a redis-server of its own", options: options, close: started.Stop}, nil
}
