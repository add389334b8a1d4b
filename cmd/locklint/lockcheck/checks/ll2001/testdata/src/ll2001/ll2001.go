package ll2001

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"
)

var errBusy = errors.New("busy")

type Locks struct{ rdb *redis.Client }

func (l *Locks) Lock(ctx context.Context, key string) error {
	return l.rdb.SetNX(ctx, key, 1, time.Minute).Err() // want `LL2001: the outcome of SetNX is ignored, only the error is looked at`
}

func (l *Locks) Unlock(ctx context.Context, key string) error { return l.rdb.Del(ctx, key).Err() }

func statement(ctx context.Context, rdb *redis.Client) {
	rdb.SetNX(ctx, "lock:a", 1, time.Minute) // want `LL2001: the outcome of SetNX is ignored: everybody gets this lock`
	defer rdb.Del(ctx, "lock:a")
}

func blank(ctx context.Context, rdb *redis.Client) error {
	_, err := rdb.SetNX(ctx, "lock:b", 1, time.Minute).Result() // want `LL2001: the outcome of SetNX is ignored, only the error`
	if err != nil {
		return err
	}
	defer rdb.Del(ctx, "lock:b")
	return nil
}

func kept(ctx context.Context, rdb *redis.Client) error {
	res := rdb.SetNX(ctx, "lock:b2", 1, time.Minute) // want `LL2001: the outcome of SetNX is ignored, only the error`
	if err := res.Err(); err != nil {
		return err
	}
	defer rdb.Del(ctx, "lock:b2")
	return nil
}

// Looked at, in one way or another.

func fine(ctx context.Context, rdb *redis.Client) error {
	ok, err := rdb.SetNX(ctx, "lock:c", 1, time.Minute).Result()
	if err != nil {
		return err
	}
	if !ok {
		return errBusy
	}
	defer rdb.Del(ctx, "lock:c")
	return nil
}

func fineToo(ctx context.Context, rdb *redis.Client) error {
	res := rdb.SetNX(ctx, "lock:d", 1, time.Minute)
	if res.Err() != nil || !res.Val() {
		return errBusy
	}
	defer rdb.Del(ctx, "lock:d")
	return nil
}

func passedOn(ctx context.Context, rdb *redis.Client, check func(*redis.BoolCmd) error) error {
	if err := check(rdb.SetNX(ctx, "lock:e", 1, time.Minute)); err != nil {
		return err
	}
	defer rdb.Del(ctx, "lock:e")
	return nil
}

// SET … NX answers with redis.Nil, an error.

func setArgs(ctx context.Context, rdb *redis.Client) error {
	if err := rdb.SetArgs(ctx, "lock:f", 1, redis.SetArgs{Mode: "NX", TTL: time.Minute}).Err(); err != nil {
		return err
	}
	defer rdb.Del(ctx, "lock:f")
	return nil
}

// No locks: a cache, a flag.

func fill(ctx context.Context, rdb *redis.Client, v string) error {
	return rdb.SetNX(ctx, "cache:front", v, time.Minute).Err()
}

func drop(ctx context.Context, rdb *redis.Client) { rdb.Del(ctx, "cache:front") }

// Through a wrapper.

func (l *Locks) setnx(ctx context.Context, key string) (bool, error) {
	return l.rdb.SetNX(ctx, key, 1, time.Minute).Result()
}

func (l *Locks) blind(ctx context.Context) {
	l.setnx(ctx, "lock:g") // want `LL2001: the outcome of SetNX \(through Locks.setnx\) is ignored: everybody`
	defer l.rdb.Del(ctx, "lock:g")
}

func (l *Locks) sighted(ctx context.Context) {
	if ok, _ := l.setnx(ctx, "lock:h"); ok {
		defer l.rdb.Del(ctx, "lock:h")
	}
}

// Only its test deletes the key: no release. But the key says lock, and the error tells nobody who has it.
func warm(ctx context.Context, rdb *redis.Client) error {
	return rdb.SetNX(ctx, "lock:warm", 1, time.Minute).Err() // want `LL2001: the outcome of SetNX is ignored, only the error`
}

// A flag that stays is no lock, whatever it is called.
func prepare(ctx context.Context, rdb *redis.Client) error {
	return rdb.SetNX(ctx, "lock:system", false, 0).Err()
}

func seen(ctx context.Context, rdb *redis.Client) error {
	return rdb.SetNX(ctx, "seen:all", 1, time.Minute).Err()
}

// In text form.

func text(ctx context.Context, rdb *redis.Client) error {
	if _, err := rdb.Do(ctx, "SETNX", "lock:f", "token").Result(); err != nil { // want `LL2001: the outcome of SETNX is ignored, only the error`
		return err
	}
	defer rdb.Do(ctx, "DEL", "lock:f")
	return nil
}

func textError(ctx context.Context, rdb *redis.Client) error {
	if err := rdb.Do(ctx, "SETNX", "lock:g", "token").Err(); err != nil { // want `LL2001: the outcome of SETNX is ignored, only the error`
		return err
	}
	defer rdb.Do(ctx, "DEL", "lock:g")
	return nil
}

func fineText(ctx context.Context, rdb *redis.Client) error {
	if n, err := rdb.Do(ctx, "SETNX", "lock:h", "token").Int(); err != nil || n == 0 {
		return errBusy
	}
	defer rdb.Do(ctx, "DEL", "lock:h")
	return nil
}

func fineNil(ctx context.Context, rdb *redis.Client) error { // an error says that the key exists
	if err := rdb.Do(ctx, "SET", "lock:i", "token", "NX", "EX", 10).Err(); err != nil {
		return err
	}
	defer rdb.Do(ctx, "DEL", "lock:i")
	return nil
}

// Who looks at the key afterwards knows whose it is.

type looking struct {
	rdb        *redis.Client
	key, value string
}

func (l *looking) Lock(ctx context.Context) (bool, error) {
	if _, err := l.rdb.SetNX(ctx, l.key, l.value, time.Minute).Result(); err != nil {
		return false, err
	}
	owner, err := l.rdb.Get(ctx, l.key).Result()
	return err == nil && owner == l.value, err
}

func (l *looking) Unlock(ctx context.Context) error { return l.rdb.Del(ctx, l.key).Err() }

func lookedBefore(ctx context.Context, rdb *redis.Client) {
	if rdb.Get(ctx, "lock:j").Val() == "full" {
		return
	}
	rdb.SetNX(ctx, "lock:j", 1, time.Minute) // want `LL2001`
	defer rdb.Del(ctx, "lock:j")
}
