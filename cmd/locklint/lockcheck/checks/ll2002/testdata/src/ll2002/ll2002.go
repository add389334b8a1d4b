package ll2002

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

var errBusy = errors.New("busy")

// The same key in one function.

func rebuild(ctx context.Context, rdb *redis.Client, id string) error {
	key := "rebuild:" + id
	ok, err := rdb.SetNX(ctx, key, 1, time.Minute).Result()
	if err != nil || !ok {
		return errBusy
	}
	defer rdb.Del(ctx, key) // want `LL2002: DEL releases this lock without asking whose it is: if the SetNX at line 19 has expired`
	return nil
}

func rebuildLiteral(ctx context.Context, rdb *redis.Client, id int) error {
	if !rdb.SetNX(ctx, fmt.Sprintf("rebuild:%d", id), 1, time.Minute).Val() {
		return errBusy
	}
	defer func() {
		rdb.Del(ctx, fmt.Sprintf("rebuild:%d", id)) // want `LL2002: DEL releases this lock`
	}()
	return nil
}

// An idempotency key: deleted only so that the failed request can be repeated.

func once(ctx context.Context, rdb *redis.Client, id string, work func() error) error {
	key := "request:" + id
	if !rdb.SetNX(ctx, key, 1, time.Hour).Val() {
		return nil
	}
	if err := work(); err != nil {
		rdb.Del(ctx, key)
		return err
	}
	return nil
}

func onceDeferred(ctx context.Context, rdb *redis.Client, id string, work func() error) (err error) {
	key := "request:" + id
	if !rdb.SetNX(ctx, key, 1, time.Hour).Val() {
		return nil
	}
	defer func() {
		if err != nil {
			rdb.Del(ctx, key)
		}
	}()
	return work()
}

// Given back only sometimes, whatever the reason.

func unlessDone(ctx context.Context, rdb *redis.Client, id string, work func() string) {
	key := "settle:" + id
	if !rdb.SetNX(ctx, key, 1, time.Hour).Val() {
		return
	}
	status := ""
	defer func() {
		if status != "done" {
			rdb.Del(ctx, key)
		}
	}()
	status = work()
}

func unlessAccepted(ctx context.Context, rdb *redis.Client, id string, work func() int) int {
	key := "settle2:" + id
	if !rdb.SetNX(ctx, key, 1, time.Hour).Val() {
		return 0
	}
	status := work()
	if status >= 400 {
		rdb.Del(ctx, key)
	}
	return status
}

// Released on the way out, if also forgotten on another, or as the acquire's outcome says.

func forgetful(ctx context.Context, rdb *redis.Client, id string, work func() error) error {
	key := "settle3:" + id
	if !rdb.SetNX(ctx, key, 1, time.Hour).Val() {
		return nil
	}
	if err := work(); err != nil {
		return err
	}
	rdb.Del(ctx, key) // want `LL2002: DEL releases this lock`
	return nil
}

func ifTaken(ctx context.Context, rdb *redis.Client, id string, work func() error) error {
	key := "settle4:" + id
	ok, err := rdb.SetNX(ctx, key, 1, time.Hour).Result()
	if err != nil {
		return err
	}
	err = work()
	if ok {
		rdb.Del(ctx, key) // want `LL2002: DEL releases this lock`
	}
	return err
}

func ifFlagged(ctx context.Context, rdb *redis.Client, id string, work func() error) error {
	locked := false
	defer func() {
		if locked {
			rdb.Del(ctx, "settle5") // want `LL2002: DEL releases this lock`
		}
	}()
	if rdb.SetNX(ctx, "settle5", 1, time.Hour).Val() {
		locked = true
	}
	return work()
}

// By its name it is no lock.

type IdempotencyStore struct{ rdb *redis.Client }

func (s *IdempotencyStore) Acquire(ctx context.Context, key string) (bool, error) {
	return s.rdb.SetNX(ctx, key, 1, time.Hour).Result()
}

func (s *IdempotencyStore) Release(ctx context.Context, key string) error {
	return s.rdb.Del(ctx, key).Err()
}

// A fresh start: what is deleted before the acquire is no release of it.

func restart(ctx context.Context, rdb *redis.Client) bool {
	rdb.Del(ctx, "leader")
	return rdb.SetNX(ctx, "leader", 1, time.Hour).Val()
}

// Another key.

func two(ctx context.Context, rdb *redis.Client, a, b string) bool {
	ok := rdb.SetNX(ctx, a, 1, time.Hour).Val()
	rdb.Del(ctx, b)
	return ok
}

// Throttling and caches.

func throttled(ctx context.Context, rdb *redis.Client, user string) bool {
	return !rdb.SetNX(ctx, "throttle:"+user, 1, time.Second).Val()
}

func fill(ctx context.Context, rdb *redis.Client, id, value string) {
	rdb.SetNX(ctx, "product:"+id, value, time.Hour)
}

func invalidate(ctx context.Context, rdb *redis.Client, id string) {
	rdb.Del(ctx, "product:"+id)
}

func markSeen(ctx context.Context, rdb *redis.Client, id string) bool {
	return rdb.SetNX(ctx, "seen:"+id, 1, time.Hour).Val()
}

func forgetSeen(ctx context.Context, rdb *redis.Client, id string) {
	rdb.Del(ctx, "seen:"+id)
}

// Keys of the same shape in two functions, which say that they are locks.

func lockKey(id string) string { return "lock:order:" + id }

func begin(ctx context.Context, rdb *redis.Client, id string) bool {
	return rdb.SetNX(ctx, lockKey(id), 1, time.Minute).Val()
}

func end(ctx context.Context, rdb *redis.Client, order string) {
	rdb.Del(ctx, lockKey(order)) // want `LL2002: DEL releases this lock without asking whose it is: if the SetNX at line [0-9]+`
}

func resetOrder(ctx context.Context, rdb *redis.Client, order string) {
	rdb.Del(ctx, lockKey(order)) // whoever holds it
}

// The locked account is business state.

func lockedOut(ctx context.Context, rdb *redis.Client, user string) bool {
	return rdb.SetNX(ctx, "account:locked:"+user, 1, time.Hour).Val()
}

func letIn(ctx context.Context, rdb *redis.Client, user string) {
	rdb.Del(ctx, "account:locked:"+user)
}

// A lock that stays until its time is up, and a lock without expiry: the first has no release, the second cannot be
// lost before it is deleted.

func daily(ctx context.Context, rdb *redis.Client) bool {
	return rdb.SetNX(ctx, "lock:daily", 1, 24*time.Hour).Val()
}

func forEver(ctx context.Context, rdb *redis.Client) {
	if rdb.SetNX(ctx, "lock:ever", 1, 0).Val() {
		defer rdb.Del(ctx, "lock:ever")
	}
}

// Somebody asks first. Whether that is atomic is another question.

func polite(ctx context.Context, rdb *redis.Client, token string) error {
	if !rdb.SetNX(ctx, "lock:polite", token, time.Minute).Val() {
		return errBusy
	}
	defer func() {
		if rdb.Get(ctx, "lock:polite").Val() == token {
			rdb.Del(ctx, "lock:polite")
		}
	}()
	return nil
}

func watched(ctx context.Context, rdb *redis.Client, token string) error {
	if !rdb.SetNX(ctx, "lock:watched", token, time.Minute).Val() {
		return errBusy
	}
	return rdb.Watch(ctx, func(tx *redis.Tx) error {
		_, err := tx.TxPipelined(ctx, func(p redis.Pipeliner) error {
			p.Del(ctx, "lock:watched")
			return nil
		})
		return err
	}, "lock:watched")
}

// A correct release beside a forced one.

var unlock = redis.NewScript(`if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("DEL", KEYS[1]) end return 0`)

func careful(ctx context.Context, rdb *redis.Client, token string) error {
	if !rdb.SetNX(ctx, "lock:careful", token, time.Minute).Val() {
		return errBusy
	}
	defer unlock.Run(ctx, rdb, []string{"lock:careful"}, token)
	return nil
}

func abort(ctx context.Context, rdb *redis.Client) { rdb.Del(ctx, "lock:careful") }

func careless(ctx context.Context, rdb *redis.Client) error {
	if !rdb.SetNX(ctx, "lock:careless", 1, time.Minute).Val() {
		return errBusy
	}
	defer rdb.Eval(ctx, `return redis.call("DEL", KEYS[1])`, []string{"lock:careless"}) // want `LL2002: EVAL releases this lock`
	return nil
}

// Silenced.

func known(ctx context.Context, rdb *redis.Client) error {
	if !rdb.SetNX(ctx, "lock:known", 1, time.Minute).Val() {
		return errBusy
	}
	//locklint:ignore LL2002 the work takes a millisecond
	defer rdb.Del(ctx, "lock:known")
	return nil
}

func knownToo(ctx context.Context, rdb *redis.Client) error {
	if !rdb.SetNX(ctx, "lock:known2", 1, time.Minute).Val() {
		return errBusy
	}
	defer rdb.Del(ctx, "lock:known2") //nolint:errcheck,locklint // fine
	return nil
}

// whole is silent as a whole.
//
//locklint:ignore LL2002,LL2005 kept for the old version
func whole(ctx context.Context, rdb *redis.Client) error {
	if !rdb.SetNX(ctx, "lock:whole", 1, time.Minute).Val() {
		return errBusy
	}
	defer rdb.Del(ctx, "lock:whole")
	return nil
}

func withoutReason(ctx context.Context, rdb *redis.Client) error {
	if !rdb.SetNX(ctx, "lock:reason", 1, time.Minute).Val() {
		return errBusy
	}
	//locklint:ignore LL2002
	defer rdb.Del(ctx, "lock:reason") // want `LL2002: DEL releases this lock`
	return nil
}

func otherCheck(ctx context.Context, rdb *redis.Client) error {
	if !rdb.SetNX(ctx, "lock:other", 1, time.Minute).Val() {
		return errBusy
	}
	//locklint:ignore LL2001 not this one
	defer rdb.Del(ctx, "lock:other") // want `LL2002: DEL releases this lock`
	return nil
}

// Keys by a function that takes any number of parts.

func partsKey(parts ...string) string { return "lock:" + strings.Join(parts, ":") }

func byParts(ctx context.Context, rdb *redis.Client, shop, id string) error {
	if !rdb.SetNX(ctx, partsKey(shop, id), 1, time.Minute).Val() {
		return errBusy
	}
	defer rdb.Del(ctx, partsKey(shop, id)) // want `LL2002: DEL releases this lock`
	return nil
}

func bySlice(ctx context.Context, rdb *redis.Client, parts []string) error {
	if !rdb.SetNX(ctx, partsKey(parts...), 1, time.Minute).Val() {
		return errBusy
	}
	defer rdb.Del(ctx, partsKey(parts...)) // want `LL2002: DEL releases this lock`
	return nil
}

func otherParts(ctx context.Context, rdb *redis.Client, shop, id string) error {
	if !rdb.SetNX(ctx, partsKey(shop, id), 1, time.Minute).Val() {
		return errBusy
	}
	rdb.Del(ctx, partsKey(shop)) // another key
	return nil
}

// Behind a look at the error, but whatever it says.
func afterReport(ctx context.Context, rdb *redis.Client, id string, work func() error, report func()) {
	key := "settle6:" + id
	if !rdb.SetNX(ctx, key, 1, time.Hour).Val() {
		return
	}
	if err := work(); err == nil {
		report()
	}
	rdb.Del(ctx, key) // want `LL2002: DEL releases this lock`
}
