package ll2005

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

// The time to live is the same at the SetNX.

type config struct{ ttl time.Duration }

const lease = 20 * time.Second

func constant(ctx context.Context, rdb *redis.Client) error {
	ok, err := rdb.SetNX(ctx, "lock:s1", 1, 0).Result() // want `LL2005: SetNX takes the lock`
	if err != nil || !ok {
		return errBusy
	}
	rdb.Expire(ctx, "lock:s1", lease)
	defer rdb.Del(ctx, "lock:s1")
	return nil
}

func ofFunction(ctx context.Context, rdb *redis.Client, seconds int, usable func() bool) error {
	ok, err := rdb.SetNX(ctx, "lock:s2", 1, 0).Result() // want `LL2005: SetNX takes the lock`
	if err != nil || !ok || !usable() {
		return errBusy
	}
	rdb.Expire(ctx, "lock:s2", time.Duration(seconds)*time.Second)
	defer rdb.Del(ctx, "lock:s2")
	return nil
}

func ofStruct(ctx context.Context, rdb *redis.Client, c config) error {
	ok, err := rdb.SetNX(ctx, "lock:s3", 1, 0).Result() // want `LL2005: SetNX takes the lock`
	if err != nil || !ok {
		return errBusy
	}
	rdb.Expire(ctx, "lock:s3", c.ttl)
	defer rdb.Del(ctx, "lock:s3")
	return nil
}

type locker struct {
	rdb *redis.Client
	ttl time.Duration
}

func (l *locker) run(ctx context.Context) error {
	if !l.rdb.SetNX(ctx, "lock:s4", 1, 0).Val() { // want `LL2005: SetNX takes the lock`
		return errBusy
	}
	l.rdb.Expire(ctx, "lock:s4", l.ttl)
	defer l.rdb.Del(ctx, "lock:s4")
	return nil
}

// Not moved: it may be another by then.

func assigned(ctx context.Context, rdb *redis.Client, s string) error {
	d := time.Minute
	ok, err := rdb.SetNX(ctx, "lock:t1", 1, 0).Result() // want `LL2005: SetNX takes the lock`
	if d, err = time.ParseDuration(s); !ok || err != nil {
		return errBusy
	}
	rdb.Expire(ctx, "lock:t1", d)
	defer rdb.Del(ctx, "lock:t1")
	return nil
}

func doubled(ctx context.Context, rdb *redis.Client, d time.Duration) error {
	ok, err := rdb.SetNX(ctx, "lock:t2", 1, 0).Result() // want `LL2005: SetNX takes the lock`
	if d = 2 * d; !ok || err != nil {
		return errBusy
	}
	rdb.Expire(ctx, "lock:t2", d)
	defer rdb.Del(ctx, "lock:t2")
	return nil
}

func captured(ctx context.Context, rdb *redis.Client, d time.Duration) error {
	again := func() bool { d *= 2; return true }
	ok, err := rdb.SetNX(ctx, "lock:t3", 1, 0).Result() // want `LL2005: SetNX takes the lock`
	if !ok || err != nil || !again() {
		return errBusy
	}
	rdb.Expire(ctx, "lock:t3", d)
	defer rdb.Del(ctx, "lock:t3")
	return nil
}

func (c *config) load() bool { c.ttl = time.Hour; return true }

func loaded(ctx context.Context, rdb *redis.Client, c config) error {
	ok, err := rdb.SetNX(ctx, "lock:t4", 1, 0).Result() // want `LL2005: SetNX takes the lock`
	if err != nil || !ok || !c.load() {
		return errBusy
	}
	rdb.Expire(ctx, "lock:t4", c.ttl)
	defer rdb.Del(ctx, "lock:t4")
	return nil
}

func loadedBefore(ctx context.Context, rdb *redis.Client, c config) error {
	if c.load(); !rdb.SetNX(ctx, "lock:t5", 1, 0).Val() { // want `LL2005: SetNX takes the lock`
		return errBusy
	}
	rdb.Expire(ctx, "lock:t5", c.ttl)
	defer rdb.Del(ctx, "lock:t5")
	return nil
}

func shadowed(ctx context.Context, rdb *redis.Client, d time.Duration) error {
	if d := "other"; !rdb.SetNX(ctx, "lock:t6", d, 0).Val() { // want `LL2005: SetNX takes the lock`
		return errBusy
	}
	rdb.Expire(ctx, "lock:t6", d)
	defer rdb.Del(ctx, "lock:t6")
	return nil
}

// Not moved: it may panic where nobody has looked yet.

func guarded(ctx context.Context, rdb *redis.Client, c *config) error {
	if ok, err := rdb.SetNX(ctx, "lock:u1", 1, 0).Result(); err != nil || !ok { // want `LL2005: SetNX takes the lock`
		return errBusy
	} else if c == nil {
		return errBusy
	}
	rdb.Expire(ctx, "lock:u1", c.ttl)
	defer rdb.Del(ctx, "lock:u1")
	return nil
}

func pointer(ctx context.Context, rdb *redis.Client, c *config) error {
	if !rdb.SetNX(ctx, "lock:u2", 1, 0).Val() { // want `LL2005: SetNX takes the lock`
		return errBusy
	}
	rdb.Expire(ctx, "lock:u2", c.ttl)
	defer rdb.Del(ctx, "lock:u2")
	return nil
}

func divided(ctx context.Context, rdb *redis.Client, n time.Duration) error {
	if !rdb.SetNX(ctx, "lock:u3", 1, 0).Val() { // want `LL2005: SetNX takes the lock`
		return errBusy
	}
	rdb.Expire(ctx, "lock:u3", time.Minute/n)
	defer rdb.Del(ctx, "lock:u3")
	return nil
}

// Not moved: no expiry at all, or one that Expire rounds up.

func zero(ctx context.Context, rdb *redis.Client) error {
	if !rdb.SetNX(ctx, "lock:v1", 1, 0).Val() { // want `LL2005: SetNX takes the lock`
		return errBusy
	}
	rdb.Expire(ctx, "lock:v1", 0)
	defer rdb.Del(ctx, "lock:v1")
	return nil
}

func brief(ctx context.Context, rdb *redis.Client) error {
	if !rdb.SetNX(ctx, "lock:v2", 1, 0).Val() { // want `LL2005: SetNX takes the lock`
		return errBusy
	}
	rdb.Expire(ctx, "lock:v2", 500*time.Microsecond)
	defer rdb.Del(ctx, "lock:v2")
	return nil
}

// Not moved: a comment would be gone, or a call.

func commented(ctx context.Context, rdb *redis.Client) error {
	if !rdb.SetNX(ctx, "lock:w1", 1, 0).Val() { // want `LL2005: SetNX takes the lock`
		return errBusy
	}
	// Short, because of the batch job.
	rdb.Expire(ctx, "lock:w1", time.Minute)
	defer rdb.Del(ctx, "lock:w1")
	return nil
}

func commentInside(ctx context.Context, rdb *redis.Client) error {
	if !rdb.SetNX(ctx, "lock:w2", 1, 0).Val() { // want `LL2005: SetNX takes the lock`
		return errBusy
	}
	if err := rdb.Expire(ctx, "lock:w2", time.Minute).Err(); err != nil {
		// Nobody looks at this one.
		return err
	}
	defer rdb.Del(ctx, "lock:w2")
	return nil
}

func commentsAround(ctx context.Context, rdb *redis.Client) error {
	if !rdb.SetNX(ctx, "lock:w3", 1, 0).Val() { // want `LL2005: SetNX takes the lock`
		return errBusy
	}
	// It is counted by the caller.

	rdb.Expire(ctx, "lock:w3", time.Minute)
	// The end.
	defer rdb.Del(ctx, "lock:w3")
	return nil
}

func calls(ctx context.Context, rdb *redis.Client, counted func(context.Context) context.Context) error {
	if !rdb.SetNX(ctx, "lock:w4", 1, 0).Val() { // want `LL2005: SetNX takes the lock`
		return errBusy
	}
	rdb.Expire(counted(ctx), "lock:w4", time.Minute)
	defer rdb.Del(ctx, "lock:w4")
	return nil
}
