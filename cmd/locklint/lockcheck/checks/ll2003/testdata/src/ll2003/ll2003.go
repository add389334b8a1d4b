package ll2003

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

var errBusy = errors.New("busy")

const unlock = `if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("DEL", KEYS[1]) end return 0`

// Constants.

func literal(ctx context.Context, rdb *redis.Client) error {
	if !rdb.SetNX(ctx, "lock:a", 1, time.Minute).Val() { // want `LL2003: the token that SetNX stores is the constant "1"`
		return errBusy
	}
	defer rdb.Eval(ctx, unlock, []string{"lock:a"}, 1)
	return nil
}

const lockValue = "locked"

func plain(ctx context.Context, rdb *redis.Client) error {
	if !rdb.SetNX(ctx, "lock:b", lockValue, time.Minute).Val() { // want `LL2003: the token that SetNX stores is the constant "locked"`
		return errBusy
	}
	defer rdb.Del(ctx, "lock:b")
	return nil
}

func itself(ctx context.Context, rdb *redis.Client, id string) error {
	key := "lock:" + id
	if !rdb.SetNX(ctx, key, key, time.Minute).Val() { // want `LL2003: the token that SetNX stores is the key itself`
		return errBusy
	}
	defer rdb.Del(ctx, key)
	return nil
}

var shared = "token"

func variable(ctx context.Context, rdb *redis.Client) error {
	if !rdb.SetNX(ctx, "lock:c", shared, time.Minute).Val() { // want `LL2003: the token that SetNX stores is a constant`
		return errBusy
	}
	defer rdb.Eval(ctx, unlock, []string{"lock:c"}, shared)
	return nil
}

// A wrapper's own constant is reported where it stands, once.

type Locks struct{ rdb *redis.Client }

func (l *Locks) set(ctx context.Context, key string) bool {
	return l.rdb.SetNX(ctx, key, "1", time.Minute).Val() // want `LL2003: the token that SetNX stores is the constant "1"`
}

func (l *Locks) first(ctx context.Context) error {
	if !l.set(ctx, "lock:d") {
		return errBusy
	}
	defer l.rdb.Del(ctx, "lock:d")
	return nil
}

func (l *Locks) second(ctx context.Context) error {
	if !l.set(ctx, "lock:e") {
		return errBusy
	}
	defer l.rdb.Del(ctx, "lock:e")
	return nil
}

// Its user's constant is its user's.

func (l *Locks) setTo(ctx context.Context, key, token string) bool {
	return l.rdb.SetNX(ctx, key, token, time.Minute).Val()
}

func (l *Locks) third(ctx context.Context) error {
	if !l.setTo(ctx, "lock:f", "me") { // want `LL2003: the token that SetNX \(through Locks.setTo\) stores is the constant "me"`
		return errBusy
	}
	defer l.rdb.Del(ctx, "lock:f")
	return nil
}

func (l *Locks) fourth(ctx context.Context) error {
	token := rand.Text()
	if !l.setTo(ctx, "lock:g", token) {
		return errBusy
	}
	defer l.rdb.Eval(ctx, unlock, []string{"lock:g"}, token)
	return nil
}

// The same for a whole process, and compared.

var processToken = rand.Text()

func process(ctx context.Context, rdb *redis.Client) error {
	if !rdb.SetNX(ctx, "lock:h", processToken, time.Minute).Val() { // want `LL2003: the token that SetNX stores is the same for all goroutines`
		return errBusy
	}
	defer rdb.Eval(ctx, unlock, []string{"lock:h"}, processToken)
	return nil
}

func host(ctx context.Context, rdb *redis.Client) error {
	name, _ := os.Hostname()
	token := name + ":" + strconv.Itoa(os.Getpid())
	if !rdb.SetNX(ctx, "lock:i", token, time.Minute).Val() { // want `LL2003: the token that SetNX stores is the same for all goroutines`
		return errBusy
	}
	defer func() {
		if rdb.Get(ctx, "lock:i").Val() == token {
			rdb.Del(ctx, "lock:i")
		}
	}()
	return nil
}

func clock(ctx context.Context, rdb *redis.Client) error {
	token := fmt.Sprint(time.Now().Unix())
	if !rdb.SetNX(ctx, "lock:j", token, time.Minute).Val() { // want `LL2003: the token that SetNX stores is the time in seconds`
		return errBusy
	}
	defer rdb.Eval(ctx, unlock, []string{"lock:j"}, token)
	return nil
}

// A note for people: nobody compares it.

func note(ctx context.Context, rdb *redis.Client) error {
	name, _ := os.Hostname()
	if !rdb.SetNX(ctx, "lock:k", name, time.Minute).Val() {
		return errBusy
	}
	defer rdb.Del(ctx, "lock:k")
	return nil
}

// Unique, or possibly so.

func unique(ctx context.Context, rdb *redis.Client, owner string) error {
	token := rand.Text()
	if !rdb.SetNX(ctx, "lock:l", token, time.Minute).Val() {
		return errBusy
	}
	defer rdb.Eval(ctx, unlock, []string{"lock:l"}, token)
	if !rdb.SetNX(ctx, "lock:m", owner, time.Minute).Val() {
		return errBusy
	}
	defer rdb.Eval(ctx, unlock, []string{"lock:m"}, owner)
	name, _ := os.Hostname()
	mixed := fmt.Sprintf("%s-%d", name, time.Now().UnixNano())
	if !rdb.SetNX(ctx, "lock:n", mixed, time.Minute).Val() {
		return errBusy
	}
	defer rdb.Eval(ctx, unlock, []string{"lock:n"}, mixed)
	return nil
}

var changing = "a"

func change() { changing = rand.Text() }

func changed(ctx context.Context, rdb *redis.Client) error {
	if !rdb.SetNX(ctx, "lock:o", changing, time.Minute).Val() {
		return errBusy
	}
	defer rdb.Eval(ctx, unlock, []string{"lock:o"}, changing)
	return nil
}

// The leader is a process, however often it asks.
func becomeLeader(ctx context.Context, rdb *redis.Client) bool {
	name, _ := os.Hostname()
	if !rdb.SetNX(ctx, "lock:leader", name, time.Minute).Val() {
		return false
	}
	defer rdb.Eval(ctx, unlock, []string{"lock:leader"}, name)
	return true
}

// Without an expiry nobody else can get it before it is released.
func forEver(ctx context.Context, rdb *redis.Client) error {
	if !rdb.SetNX(ctx, "lock:p", 1, 0).Val() {
		return errBusy
	}
	defer rdb.Del(ctx, "lock:p")
	return nil
}

// No locks: de-duplication, throttling, an idempotency key, a cache.

func seen(ctx context.Context, rdb *redis.Client, id string) bool {
	return !rdb.SetNX(ctx, "seen:"+id, 1, time.Hour).Val()
}

func throttled(ctx context.Context, rdb *redis.Client, user string) bool {
	return !rdb.SetNX(ctx, "sms:"+user, 1, time.Minute).Val()
}

func idempotent(ctx context.Context, rdb *redis.Client, id string, work func() error) error {
	if !rdb.SetNX(ctx, "request:"+id, 1, time.Hour).Val() {
		return nil
	}
	if err := work(); err != nil {
		rdb.Del(ctx, "request:"+id)
		return err
	}
	return nil
}
