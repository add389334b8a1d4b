// Package lab lets two or three clients of a real Redis meet at exactly the moment
// at which a lock fails.
//
// The code under test is left as people write it. What goes wrong, goes wrong
// where it does in production, between a process and Redis: a client can die or
// be held up before a certain command. No scenario waits for a length of time;
// it waits until something has happened.
package lab

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/redisstore"
)

// pollEvery is how often Redis is asked whether something has happened.
const pollEvery = 2 * time.Millisecond

// closeTimeout bounds each step at the end of a scenario.
const closeTimeout = 5 * time.Second

// Lab is a Redis and the clients of one scenario. Its keys are its own.
type Lab struct {
	ctx     context.Context
	options *redis.Options
	prefix  string
	watcher *redis.Client

	mu      sync.Mutex // guards closers
	closers []func() error
	running sync.WaitGroup
}

// New prepares a scenario; prefix is put before the names of its keys. It ends with
// ctx, in which it has to have taken place.
func New(ctx context.Context, options *redis.Options, prefix string) *Lab {
	return &Lab{ctx: ctx, options: options, prefix: prefix, watcher: redis.NewClient(options)}
}

// Key names a key of this scenario.
func (l *Lab) Key(name string) string {
	return l.prefix + ":" + name
}

// Client makes another process. It is closed with the lab.
func (l *Lab) Client() *Client {
	options := *l.options
	options.MaxRetries = -1 // a repeated command would meet another fate than the first
	c := new(Client)
	options.Dialer = c.faults.dial
	c.Client = redis.NewClient(&options)
	c.AddHook(&c.faults)
	l.onClose(c.Client.Close)
	return c
}

// Locker makes a Locker of this library for a process, closed before its client.
func (l *Lab) Locker(c *Client, node string) (*lockrt.Locker, error) {
	return l.locker(c, lockrt.Config{Node: node})
}

// StrictLocker is a Locker whose callers do not pass a lock on among themselves: each
// of them waits at Redis like a process of its own.
func (l *Lab) StrictLocker(c *Client, node string) (*lockrt.Locker, error) {
	return l.locker(c, lockrt.Config{Node: node, LocalHandoffs: -1})
}

func (l *Lab) locker(c *Client, cfg lockrt.Config) (*lockrt.Locker, error) {
	cfg.Namespace, cfg.Logger = l.prefix, slog.New(slog.DiscardHandler)
	locks, err := lockrt.New(redisstore.New(c.Client, redisstore.Config{}), cfg)
	if err != nil {
		return nil, err
	}
	l.onClose(func() error {
		ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
		defer cancel()
		_ = locks.Close(ctx) // the leases of a process that is cut off cannot be given back
		return nil
	})
	return locks, nil
}

func (l *Lab) onClose(f func() error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closers = append(l.closers, f)
}

// Go runs a step that is going to be held up. The result is sent when it is done.
func Go[T any](l *Lab, step func() (T, error)) <-chan Result[T] {
	done := make(chan Result[T], 1)
	l.running.Go(func() {
		v, err := step()
		done <- Result[T]{v, err}
	})
	return done
}

// Result is what a step returned.
type Result[T any] struct {
	Value T
	Err   error
}

// Until polls until a condition holds. what says in an error what did not happen.
func (l *Lab) Until(what string, holds func() (bool, error)) error {
	for {
		ok, err := holds()
		if err != nil {
			return fmt.Errorf("wait until %s: %w", what, err)
		}
		if ok {
			return nil
		}
		select {
		case <-l.ctx.Done():
			return fmt.Errorf("wait until %s: %w", what, l.ctx.Err())
		case <-time.After(pollEvery):
		}
	}
}

// RunOut lets the time of a lock pass: its key expires as it would have later.
func (l *Lab) RunOut(key string) error {
	if err := l.watcher.PExpire(l.ctx, key, time.Millisecond).Err(); err != nil {
		return err
	}
	return l.Gone(key)
}

// Gone waits until a key has expired or was deleted.
func (l *Lab) Gone(key string) error {
	return l.Until("the lock has expired", func() (bool, error) {
		n, err := l.watcher.Exists(l.ctx, key).Result()
		return n == 0, err
	})
}

// Later waits until Redis's clock has moved on by a moment.
func (l *Lab) Later() error {
	start, err := l.watcher.Time(l.ctx).Result()
	if err != nil {
		return err
	}
	return l.Until("the clock of Redis moves on", func() (bool, error) {
		now, err := l.watcher.Time(l.ctx).Result()
		return now.Sub(start) >= 5*time.Millisecond, err
	})
}

var expiry = redis.NewScript(`
local ttl = redis.call('PTTL', KEYS[1])
if ttl < 0 then return ttl end
local t = redis.call('TIME')
return t[1] * 1000 + math.floor(t[2] / 1000) + ttl`)

// Expiry is the moment, in milliseconds on Redis's clock, at which a key expires: it
// moves only if somebody moves it. NoExpiry and NoKey stand for a key without
// one, and for no key.
func (l *Lab) Expiry(key string) (int64, error) {
	return expiry.Run(l.ctx, l.watcher, []string{key}).Int64()
}

// What Expiry returns in place of a moment.
const (
	NoExpiry int64 = -1
	NoKey    int64 = -2
)

// Close ends everything and removes the keys.
func (l *Lab) Close() error {
	l.running.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	var err error
	for i := len(l.closers) - 1; i >= 0; i-- {
		err = errors.Join(err, l.closers[i]())
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	keys := l.watcher.Scan(ctx, 0, l.prefix+":*", 0).Iterator()
	for keys.Next(ctx) {
		err = errors.Join(err, l.watcher.Unlink(ctx, keys.Val()).Err())
	}
	return errors.Join(err, keys.Err(), l.watcher.Close())
}
