// Package store wraps the client and the runtime; others use it. // want package:`carrier`
package store

import (
	"context"
	"errors"
	"log"
	"strings"
	"time"

	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/redis/go-redis/v9"
)

type Store struct {
	rdb   *redis.Client
	locks *lockrt.Locker
}

func (s *Store) PutIfAbsent(ctx context.Context, key string, ttl time.Duration) bool { // want PutIfAbsent:`redis\(SetNX \$2\)`
	return s.rdb.SetNX(ctx, key, 1, ttl).Val()
}

func (s *Store) Remove(ctx context.Context, key string) { // want Remove:`redis\(DEL \$2\)`
	s.rdb.Del(ctx, key)
}

func (s *Store) Prolong(ctx context.Context, key string, ttl time.Duration) { // want Prolong:`redis\(Expire \$2\)`
	s.rdb.Expire(ctx, key, ttl)
}

// Lock and Unlock are a lock, reported here; the users of the two hear nothing.

func (s *Store) Lock(ctx context.Context, name string) bool { // want Lock:`redis`
	return s.rdb.SetNX(ctx, "lock:"+name, 1, time.Minute).Val()
}

func (s *Store) Unlock(ctx context.Context, name string) { // want Unlock:`redis`
	s.rdb.Del(ctx, "lock:"+name)
}

func (s *Store) Lease(ctx context.Context, key string) (*lockrt.Lease, error) { // want Lease:`lease\(returns=1 params=map\[\]\)`
	return s.locks.Acquire(ctx, key, lockrt.Options{})
}

func Finish(ctx context.Context, lease *lockrt.Lease) { lease.Release(ctx) } // want Finish:`lease\(returns=0 params=map\[1:1\]\)`

func Look(ctx context.Context, lease *lockrt.Lease) bool { return lease.Check(ctx) == nil } // want Look:`lease\(returns=0 params=map\[1:3\]\)`

func Keep(ctx context.Context, lease *lockrt.Lease) { kept = lease } // want Keep:`lease\(returns=0 params=map\[1:0\]\)`

var kept *lockrt.Lease

var errNoClient = errors.New("no client")

// Local keys are nobody's business.
func private(ctx context.Context, s *Store, f func() string) { s.rdb.Del(ctx, f()) }

// SetIfAbsent logs what it does, as data layers do.
func SetIfAbsent(ctx context.Context, rdb *redis.Client, key, value string, ttl time.Duration) (ok bool, err error) { // want SetIfAbsent:`redis\(SetNX \$2\)`
	now := time.Now()
	defer func() { log.Println(key, value, err, time.Since(now)) }()
	if rdb == nil {
		return false, errNoClient
	}
	ok, err = rdb.SetNX(ctx, key, value, ttl).Result()
	return ok, err
}

// PutAlways does not say whether the key was there.
func PutAlways(ctx context.Context, rdb *redis.Client, key, value string) (ok bool, err error) { // want PutAlways:`redis\(SetNX \$2\)`
	defer func() { log.Println(key, err) }()
	_, err = rdb.SetNX(ctx, key, value, time.Minute).Result()
	ok = true
	return ok, err
}

func Delete(ctx context.Context, rdb *redis.Client, key string) error { // want Delete:`redis\(DEL \$2\)`
	return rdb.Del(ctx, key).Err()
}

func fullKey(parts ...string) string { return "app:" + strings.Join(parts, ":") }

func PutKey[T any](ctx context.Context, rdb *redis.Client, key string, value T) (bool, error) { // want PutKey:`redis\(SetNX .*fullKey\(\$2,\)\)`
	return rdb.SetNX(ctx, fullKey(key), value, time.Minute).Result()
}

func ExpireKey(ctx context.Context, rdb *redis.Client, key string) { // want ExpireKey:`redis\(Expire .*fullKey\(\$2,\)\)`
	rdb.Expire(ctx, fullKey(key), time.Minute)
}

// Reported here, and not where it is called.
func (s *Store) KeepAlive(ctx context.Context, name string) { // want KeepAlive:`redis`
	s.rdb.Expire(ctx, "lock:"+name, time.Minute)
}

// Reset does too much to be a part of a lock.
func Reset(ctx context.Context, rdb *redis.Client, k string) {
	rdb.SetNX(ctx, k, 1, time.Minute)
	for range 2 {
		rdb.Del(ctx, k, k+":1", k+":2", k+":3", k+":4", k+":5", k+":6", k+":7", k+":8", k+":9", k+":10", k+":11", k+":12")
	}
}
