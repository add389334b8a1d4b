package redisstore

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/redis/go-redis/v9"

	lockrt "github.com/lockgen/lockgen/runtime"
)

// openTimeout bounds the first contact of lockrt.Open.
const openTimeout = 4 * time.Second

func init() {
	lockrt.Register("redis", openURL)
	lockrt.Register("rediss", openURL)
}

// openURL connects to one server, redis://[user:password@]host[:port][/db][?option=…] with the options of
// redis.ParseURL; rediss is the same over TLS.
func openURL(ctx context.Context, text string) (lockrt.Store, error) {
	opts, err := redis.ParseURL(text)
	if err != nil {
		return nil, fmt.Errorf("redis URL: %w; write redis://[user:password@]host:port/db", scrub(err))
	}
	opts.ContextTimeoutEnabled = true
	client := redis.NewClient(opts)
	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	if err := client.Ping(ctx).Err(); err != nil {
		_ = client.Close()
		return nil, fmt.Errorf("reach redis at %s, database %d: %w; is the server running, and are address and password right?", opts.Addr, opts.DB, err)
	}
	return &Store{client: client, owned: true}, nil
}

// scrub drops what net/url repeats of the text: it may hold a password.
func scrub(err error) error {
	var parse *url.Error
	if errors.As(err, &parse) {
		return parse.Err
	}
	return err
}
