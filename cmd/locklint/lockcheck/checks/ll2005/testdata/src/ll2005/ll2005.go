package ll2005

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"
)

var errBusy = errors.New("busy")

func simple(ctx context.Context, rdb *redis.Client, ttl time.Duration) error {
	ok, err := rdb.SetNX(ctx, "lock:a", 1, 0).Result() // want `LL2005: SetNX takes the lock without an expiry and Expire adds it later \(line 21\)`
	if err != nil {
		return err
	}
	if !ok {
		return errBusy
	}
	rdb.Expire(ctx, "lock:a", ttl)
	defer rdb.Del(ctx, "lock:a")
	return nil
}

func tested(ctx context.Context, rdb *redis.Client) error {
	if !rdb.SetNX(ctx, "lock:b", 1, 0).Val() { // want `LL2005: SetNX takes the lock`
		return errBusy
	}
	if err := rdb.Expire(ctx, "lock:b", 30*time.Second).Err(); err != nil {
		return err
	}
	defer rdb.Del(ctx, "lock:b")
	return nil
}

// No simple shape: no fix.

func between(ctx context.Context, rdb *redis.Client, work func()) error {
	if !rdb.SetNX(ctx, "lock:c", 1, 0).Val() { // want `LL2005: SetNX takes the lock`
		return errBusy
	}
	work()
	ttl := time.Minute
	rdb.Expire(ctx, "lock:c", ttl)
	defer rdb.Del(ctx, "lock:c")
	return nil
}

func multi(ctx context.Context, rdb *redis.Client) error {
	pipe := rdb.TxPipeline()
	got := pipe.SetNX(ctx, "lock:d", 1, 0) // want `LL2005: SetNX and Expire \(line 53\) arrive together in MULTI, but Expire also runs when SetNX fails`
	pipe.Expire(ctx, "lock:d", time.Minute)
	if _, err := pipe.Exec(ctx); err != nil || !got.Val() {
		return errBusy
	}
	defer rdb.Del(ctx, "lock:d")
	return nil
}

func multiLiteral(ctx context.Context, rdb *redis.Client) error {
	var got *redis.BoolCmd
	rdb.TxPipelined(ctx, func(p redis.Pipeliner) error {
		got = p.SetNX(ctx, "lock:e", 1, 0) // want `LL2005: SetNX and Expire \(line 65\) arrive together in MULTI`
		p.Expire(ctx, "lock:e", time.Minute)
		return nil
	})
	if !got.Val() {
		return errBusy
	}
	defer rdb.Del(ctx, "lock:e")
	return nil
}

func pipelined(ctx context.Context, rdb *redis.Client) {
	pipe := rdb.Pipeline()
	pipe.SetNX(ctx, "lock:f", 1, 0) // want `LL2005: SetNX and Expire \(line 78\) in a pipeline are two commands`
	pipe.Expire(ctx, "lock:f", time.Minute)
	pipe.Exec(ctx)
	defer rdb.Del(ctx, "lock:f")
}

// Fine: an expiry from the start, prolonged later; another key; no lock at all.

func renewed(ctx context.Context, rdb *redis.Client) error {
	if !rdb.SetNX(ctx, "lock:g", 1, time.Minute).Val() {
		return errBusy
	}
	rdb.Expire(ctx, "lock:g", time.Minute)
	defer rdb.Del(ctx, "lock:g")
	return nil
}

func otherKey(ctx context.Context, rdb *redis.Client) error {
	if !rdb.SetNX(ctx, "lock:h", 1, 0).Val() {
		return errBusy
	}
	rdb.Expire(ctx, "session", time.Minute)
	defer rdb.Del(ctx, "lock:h")
	return nil
}

func counter(ctx context.Context, rdb *redis.Client) {
	if rdb.SetNX(ctx, "visits", 0, 0).Val() {
		rdb.Expire(ctx, "visits", time.Hour)
	}
}

// Through methods: Lock and Unlock of one type.

type Mutex struct {
	rdb *redis.Client
	key string
}

func (m *Mutex) set(ctx context.Context) bool { return m.rdb.SetNX(ctx, m.key, 1, 0).Val() }

func (m *Mutex) Lock(ctx context.Context) bool {
	if !m.set(ctx) { // want `LL2005: SetNX \(through Mutex.set\) takes the lock without an expiry`
		return false
	}
	m.rdb.Expire(ctx, m.key, time.Minute)
	return true
}

func (m *Mutex) Unlock(ctx context.Context) { m.rdb.Del(ctx, m.key) }

// Not moved: work in between, and an expiry that is computed.

func worksFirst(ctx context.Context, rdb *redis.Client, work func()) error {
	if !rdb.SetNX(ctx, "lock:i", 1, 0).Val() { // want `LL2005: SetNX takes the lock`
		return errBusy
	}
	work()
	rdb.Expire(ctx, "lock:i", time.Minute)
	defer rdb.Del(ctx, "lock:i")
	return nil
}

func computes(ctx context.Context, rdb *redis.Client, ttl func() time.Duration) error {
	if !rdb.SetNX(ctx, "lock:j", 1, 0).Val() { // want `LL2005: SetNX takes the lock`
		return errBusy
	}
	rdb.Expire(ctx, "lock:j", ttl())
	defer rdb.Del(ctx, "lock:j")
	return nil
}
