package ll2006

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"
)

var errBusy = errors.New("busy")

// Seconds as nanoseconds.

func bare(ctx context.Context, rdb *redis.Client) error {
	if !rdb.SetNX(ctx, "lock:a", 1, 10).Val() { // want `LL2006: SetNX of this lock: it lasts 10 nanoseconds`
		return errBusy
	}
	defer rdb.Del(ctx, "lock:a")
	return nil
}

func converted(ctx context.Context, rdb *redis.Client, timeoutSeconds int) error {
	if !rdb.SetNX(ctx, "lock:b", 1, time.Duration(timeoutSeconds)).Val() { // want `LL2006: SetNX of this lock: timeoutSeconds is taken for nanoseconds`
		return errBusy
	}
	defer rdb.Del(ctx, "lock:b")
	return nil
}

func expiry(ctx context.Context, rdb *redis.Client) error {
	if !rdb.SetNX(ctx, "lock:c", 1, 0).Val() {
		return errBusy
	}
	rdb.Expire(ctx, "lock:c", 30) // want `LL2006: Expire of this lock: it lasts 30 nanoseconds`
	defer rdb.Del(ctx, "lock:c")
	return nil
}

// Through a wrapper: the number is passed where it becomes a time.

type Locks struct{ rdb *redis.Client }

func (l *Locks) try(ctx context.Context, key string, ttl time.Duration) bool {
	return l.rdb.SetNX(ctx, key, 1, ttl).Val()
}

func (l *Locks) bare(ctx context.Context) error {
	if !l.try(ctx, "lock:d", 5) { // want `LL2006: SetNX \(through Locks.try\) of this lock: it lasts 5 nanoseconds`
		return errBusy
	}
	defer l.rdb.Del(ctx, "lock:d")
	return nil
}

func (l *Locks) fine(ctx context.Context) error {
	if !l.try(ctx, "lock:e", 5*time.Second) {
		return errBusy
	}
	defer l.rdb.Del(ctx, "lock:e")
	return nil
}

// Duration × Duration.

func twice(ctx context.Context, rdb *redis.Client) error {
	ttl := 10 * time.Second
	if !rdb.SetNX(ctx, "lock:f", 1, ttl*time.Second).Val() { // want `LL2006: SetNX of this lock: it lasts 317 years`
		return errBusy
	}
	defer rdb.Del(ctx, "lock:f")
	return nil
}

func twiceParameter(ctx context.Context, rdb *redis.Client, ttl time.Duration) error {
	if !rdb.SetNX(ctx, "lock:g", 1, ttl*time.Second).Val() { // want `LL2006: SetNX of this lock: a Duration is multiplied by a Duration`
		return errBusy
	}
	defer rdb.Del(ctx, "lock:g")
	return nil
}

// A parameter that is a number of seconds, whatever its type says.

func (l *Locks) seconds(ctx context.Context, key string, seconds time.Duration) bool {
	return l.rdb.SetNX(ctx, key, 1, seconds*time.Second).Val()
}

func (l *Locks) tenSeconds(ctx context.Context) error {
	if !l.seconds(ctx, "lock:h", 10) {
		return errBusy
	}
	defer l.rdb.Del(ctx, "lock:h")
	return nil
}

func (l *Locks) centuries(ctx context.Context) error {
	if !l.seconds(ctx, "lock:i", 10*time.Second) { // want `LL2006: SetNX \(through Locks.seconds\) of this lock: it lasts 317 years`
		return errBusy
	}
	defer l.rdb.Del(ctx, "lock:i")
	return nil
}

// Do has units and an arity of its own.

func do(ctx context.Context, rdb *redis.Client, ttl time.Duration) error {
	if n, _ := rdb.Do(ctx, "SETNX", "lock:j", 1, "EX", 10).Int64(); n == 0 { // want `LL2006: SETNX of this lock: SETNX takes a key and a value and nothing else`
		return errBusy
	}
	defer rdb.Del(ctx, "lock:j")
	if rdb.Do(ctx, "SET", "lock:k", 1, "NX", "EX", ttl).Err() != nil { // want `LL2006: SET NX of this lock: it takes a number of seconds and is given a time.Duration`
		return errBusy
	}
	defer rdb.Del(ctx, "lock:k")
	if rdb.Do(ctx, "SET", "lock:l", 1, "NX", 10).Err() != nil { // want `LL2006: SET NX of this lock: SET has no option that is a number`
		return errBusy
	}
	defer rdb.Del(ctx, "lock:l")
	if rdb.Do(ctx, "SET", "lock:m", 1, "NX", "EX", ttl.Milliseconds()).Err() != nil { // want `LL2006: SET NX of this lock: it takes a number of seconds and is given a smaller unit`
		return errBusy
	}
	defer rdb.Del(ctx, "lock:m")
	if rdb.Do(ctx, "SET", "lock:n", 1, "NX", "PX", int64(ttl.Seconds())).Err() != nil { // want `LL2006: SET NX of this lock: it takes a number of milliseconds and is given seconds`
		return errBusy
	}
	defer rdb.Del(ctx, "lock:n")
	return nil
}

func doRight(ctx context.Context, rdb *redis.Client, ttl time.Duration) error {
	if n, _ := rdb.Do(ctx, "SETNX", "lock:o", 1).Int64(); n == 0 {
		return errBusy
	}
	rdb.Do(ctx, "EXPIRE", "lock:o", int64(ttl/time.Second))
	defer rdb.Del(ctx, "lock:o")
	if rdb.Do(ctx, "SET", "lock:p", 1, "NX", "PX", ttl.Milliseconds()).Err() != nil {
		return errBusy
	}
	defer rdb.Del(ctx, "lock:p")
	if rdb.Do(ctx, "SET", "lock:q", 1, "EX", int(ttl.Seconds()), "NX").Err() != nil {
		return errBusy
	}
	defer rdb.Del(ctx, "lock:q")
	return nil
}

// Right, or possibly so.

type config struct{ TTL time.Duration }

func fromConfig(ctx context.Context, rdb *redis.Client, c config, n int, timeout int64) error {
	if !rdb.SetNX(ctx, "lock:r", 1, c.TTL*time.Second).Val() { // the file may say 10
		return errBusy
	}
	defer rdb.Del(ctx, "lock:r")
	if !rdb.SetNX(ctx, "lock:s", 1, time.Duration(n)*time.Second).Val() {
		return errBusy
	}
	defer rdb.Del(ctx, "lock:s")
	if !rdb.SetNX(ctx, "lock:t", 1, time.Duration(timeout)).Val() {
		return errBusy
	}
	defer rdb.Del(ctx, "lock:t")
	if !rdb.SetNX(ctx, "lock:u", 1, 24*365*time.Hour).Val() {
		return errBusy
	}
	defer rdb.Del(ctx, "lock:u")
	return nil
}

// No lock.

func cached(ctx context.Context, rdb *redis.Client, v string) {
	rdb.SetNX(ctx, "page", v, 10)
}

// Nobody can divide by zero, nor does the analysis.

func share(ctx context.Context, rdb *redis.Client, key string, ttl, parts time.Duration) bool {
	return rdb.SetNX(ctx, key, 1, ttl/parts).Val()
}

func shared(ctx context.Context, rdb *redis.Client) {
	if share(ctx, rdb, "lock:shared", time.Minute, 0) {
		defer rdb.Del(ctx, "lock:shared")
	}
}
