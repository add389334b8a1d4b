package ll2010

import (
	"context"
	"errors"
	"log"
	"runtime"
	"time"

	"github.com/gomodule/redigo/redis"
	goredis "github.com/redis/go-redis/v9"
)

var errBusy = errors.New("busy")

func spin(ctx context.Context, rdb *goredis.Client, token string) {
	for !rdb.SetNX(ctx, "lock:a", token, time.Minute).Val() { // want `LL2010: SetNX is tried again at once when somebody else has the lock`
	}
	defer rdb.Del(ctx, "lock:a")
}

func yield(ctx context.Context, rdb *goredis.Client, token string) error {
	for {
		ok, err := rdb.SetNX(ctx, "lock:b", token, time.Minute).Result() // want `LL2010: SetNX is tried again at once`
		if err != nil {
			return err
		}
		if ok {
			break
		}
		log.Printf("lock:b is taken")
		runtime.Gosched()
	}
	defer rdb.Del(ctx, "lock:b")
	return nil
}

func untilDeadline(ctx context.Context, rdb *goredis.Client, token string) error {
	deadline := time.Now().Add(time.Second)
	for time.Now().Before(deadline) {
		if rdb.SetNX(ctx, "lock:c", token, time.Minute).Val() { // want `LL2010: SetNX is tried again at once`
			defer rdb.Del(ctx, "lock:c")
			return nil
		}
	}
	return errBusy
}

// Asking the context is not waiting for it.
func polls(ctx context.Context, rdb *goredis.Client, token string) error {
	for {
		if rdb.SetNX(ctx, "lock:d", token, time.Minute).Val() { // want `LL2010: SetNX is tried again at once`
			break
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		default:
		}
	}
	defer rdb.Del(ctx, "lock:d")
	return nil
}

func tooShort(ctx context.Context, rdb *goredis.Client, token string) {
	for !rdb.SetNX(ctx, "lock:e", token, time.Minute).Val() { // want `LL2010: SetNX is tried again at once`
		time.Sleep(50) // nanoseconds
	}
	defer rdb.Del(ctx, "lock:e")
}

// Through a method, and by recursion.

type Lock struct {
	rdb        *goredis.Client
	key, token string
}

func (l *Lock) TryLock(ctx context.Context) bool {
	return l.rdb.SetNX(ctx, l.key, l.token, time.Minute).Val()
}

func (l *Lock) Unlock(ctx context.Context) { l.rdb.Del(ctx, l.key) }

func (l *Lock) Wait(ctx context.Context) {
	for !l.TryLock(ctx) { // want `LL2010: SetNX \(through Lock.TryLock\) is tried again at once`
	}
}

func (l *Lock) Recurse(ctx context.Context) {
	if !l.TryLock(ctx) { // want `LL2010: SetNX \(through Lock.TryLock\) is tried again at once`
		l.Recurse(ctx)
	}
}

func spinRedigo(c redis.Conn, token string) {
	for {
		if n, _ := redis.Int(c.Do("SETNX", "lock:r", token)); n == 1 { // want `LL2010: SETNX is tried again at once`
			break
		}
	}
	defer c.Do("DEL", "lock:r")
}

// Something waits: a sleep, a timer, a channel, a function that may.

func sleeps(ctx context.Context, rdb *goredis.Client, token string) {
	for !rdb.SetNX(ctx, "lock:f", token, time.Minute).Val() {
		time.Sleep(100 * time.Millisecond)
	}
	defer rdb.Del(ctx, "lock:f")
}

func waits(ctx context.Context, rdb *goredis.Client, token string) error {
	for {
		if rdb.SetNX(ctx, "lock:g", token, time.Minute).Val() {
			break
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Second):
		}
	}
	defer rdb.Del(ctx, "lock:g")
	return nil
}

func backsOff(ctx context.Context, rdb *goredis.Client, token string, backoff func()) {
	for !rdb.SetNX(ctx, "lock:h", token, time.Minute).Val() {
		backoff()
	}
	defer rdb.Del(ctx, "lock:h")
}

func pause() { time.Sleep(time.Second) }

func pauses(ctx context.Context, rdb *goredis.Client, token string) {
	for !rdb.SetNX(ctx, "lock:i", token, time.Minute).Val() {
		pause()
	}
	defer rdb.Del(ctx, "lock:i")
}

func (l *Lock) RecurseSlowly(ctx context.Context) {
	if !l.TryLock(ctx) {
		time.Sleep(time.Second)
		l.RecurseSlowly(ctx)
	}
}

func (l *Lock) slowly(ctx context.Context) bool {
	for range 3 {
		if l.rdb.SetNX(ctx, l.key, l.token, time.Minute).Val() {
			return true
		}
		time.Sleep(time.Second)
	}
	return false
}

func (l *Lock) patient(ctx context.Context) {
	for !l.slowly(ctx) {
	}
}

// Other loops: a few tries, each key once, a worker that takes what comes.

func fewTries(ctx context.Context, rdb *goredis.Client, token string) error {
	for range 3 {
		if rdb.SetNX(ctx, "lock:j", token, time.Minute).Val() {
			defer rdb.Del(ctx, "lock:j")
			return nil
		}
	}
	return errBusy
}

func firstFree(ctx context.Context, rdb *goredis.Client, token string, keys []string) string {
	for _, key := range keys {
		if rdb.SetNX(ctx, "lock:"+key, token, time.Minute).Val() {
			defer rdb.Del(ctx, "lock:"+key)
			return key
		}
	}
	return ""
}

func worker(ctx context.Context, rdb *goredis.Client, token string, jobs <-chan string, work func(string)) {
	for id := range jobs {
		if !rdb.SetNX(ctx, "lock:work", token, time.Minute).Val() {
			continue
		}
		work(id)
		rdb.Del(ctx, "lock:work")
	}
}

func unique(ctx context.Context, rdb *goredis.Client, next func() string) string {
	for {
		id := next()
		if rdb.SetNX(ctx, "id:"+id, 1, 0).Val() {
			return id
		}
	}
}

type coin int

func (c coin) String() string { return "coin" }

type named interface{ String() string }

// What a value looks like takes no time.
func spinNamed(ctx context.Context, rdb *goredis.Client, c named, token string) {
	for {
		if ok, err := rdb.SetNX(ctx, "lock:"+c.String(), token, time.Minute).Result(); err == nil && ok { // want `LL2010: SetNX is tried again at once`
			break
		}
	}
	defer rdb.Del(ctx, "lock:"+c.String())
}

// Each batch has the lock of its own. Who does not get it leaves.
func batches(ctx context.Context, rdb *goredis.Client, token string, batch func() (bool, error)) error {
	for {
		ok, err := rdb.SetNX(ctx, "lock:batch", token, time.Minute).Result()
		if err != nil {
			return err
		}
		if !ok {
			return errBusy
		}
		more, err := batch()
		rdb.Del(ctx, "lock:batch")
		if err != nil || !more {
			return err
		}
	}
}

func oneBatch(ctx context.Context, rdb *goredis.Client, token string, batch func() (bool, error)) (bool, error) {
	ok, err := rdb.SetNX(ctx, "lock:batch", token, time.Minute).Result()
	if err != nil {
		return false, err
	}
	if !ok {
		return false, errBusy
	}
	defer rdb.Del(ctx, "lock:batch")
	return batch()
}

func allBatches(ctx context.Context, rdb *goredis.Client, token string, batch func() (bool, error)) error {
	for {
		more, err := oneBatch(ctx, rdb, token, batch)
		if err != nil {
			return err
		}
		if !more {
			return nil
		}
	}
}
