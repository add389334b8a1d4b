package ll3008

import (
	"context"
	"net/http"
	"time"

	"github.com/redis/go-redis/v9"
)

// Locks by hand.

func byHand(w http.ResponseWriter, r *http.Request, rdb *redis.Client, token string) {
	ok, err := rdb.SetNX(r.Context(), "lock:hand", token, time.Minute).Result()
	if err != nil || !ok {
		return
	}
	defer rdb.Del(r.Context(), "lock:hand") // want `LL3008: rdb.Del is given the context of a request: once that is cancelled the release fails`
	w.WriteHeader(http.StatusOK)
}

func byHandWithDeadline(rdb *redis.Client, token string) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if ok, err := rdb.SetNX(ctx, "lock:hand", token, time.Minute).Result(); err != nil || !ok {
		return err
	}
	defer rdb.Del(ctx, "lock:hand") // want `LL3008: rdb.Del is given a context with a deadline`
	return nil
}

func byHandDetached(ctx context.Context, rdb *redis.Client, token string) error {
	if ok, err := rdb.SetNX(ctx, "lock:hand", token, time.Minute).Result(); err != nil || !ok {
		return err
	}
	defer rdb.Del(context.WithoutCancel(ctx), "lock:hand")
	return nil
}

// No lock.
func cached(ctx context.Context, rdb *redis.Client) error { return rdb.Del(ctx, "cache").Err() }

// A context that is there for the release alone.
func ownRelease(rdb *redis.Client, token string) error {
	ctx := context.Background()
	if ok, err := rdb.SetNX(ctx, "lock:hand", token, time.Minute).Result(); err != nil || !ok {
		return err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		rdb.Del(ctx, "lock:hand")
	}()
	return nil
}

// Exported, and called by nobody here: whoever calls it mostly hands in the context of a request.
func Guarded(ctx context.Context, rdb *redis.Client, token string, do func(context.Context) error) error {
	if ok, err := rdb.SetNX(ctx, "lock:guarded", token, time.Minute).Result(); err != nil || !ok {
		return err
	}
	defer unlock.Run(ctx, rdb, []string{"lock:guarded"}, token) // want `LL3008: unlock.Run is given the caller's context`
	return do(ctx)
}

var unlock = redis.NewScript(`if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("DEL", KEYS[1]) end return 0`)

// A release that does not compare the owner fails in the same way.
func Unguarded(ctx context.Context, rdb *redis.Client, token string) error {
	if ok, err := rdb.SetNX(ctx, "lock:unguarded", token, time.Minute).Result(); err != nil || !ok {
		return err
	}
	defer rdb.Del(ctx, "lock:unguarded") // want `LL3008: rdb.Del is given the caller's context`
	return work()
}

// Its only caller hands in one that is not cancelled.
func Daily(ctx context.Context, rdb *redis.Client, token string) error {
	if ok, err := rdb.SetNX(ctx, "lock:daily", token, time.Minute).Result(); err != nil || !ok {
		return err
	}
	defer unlock.Run(ctx, rdb, []string{"lock:daily"}, token)
	return work()
}

func everyDay(rdb *redis.Client, token string) error { return Daily(context.Background(), rdb, token) }

// Interfaces that nobody here implements, for locks that are named by a key.

type slots interface {
	AcquireLock(ctx context.Context, key string, ttl time.Duration) (string, error)
	ReleaseLock(ctx context.Context, key, token string) (bool, error)
}

type distributedLock interface {
	Acquire(ctx context.Context, key string, ttl time.Duration) (string, error)
	Release(ctx context.Context, key string, token string) error
}

type pool interface { // of something else
	Acquire(ctx context.Context, key string) (string, error)
	Release(ctx context.Context, key string) error
}

type service struct {
	slots slots
	lock  distributedLock
	pool  pool
}

func (s *service) Book(ctx context.Context) error {
	token, err := s.slots.AcquireLock(ctx, "slot", time.Minute)
	if err != nil {
		return err
	}
	defer func() {
		if _, err := s.slots.ReleaseLock(ctx, "slot", token); err != nil { // want `LL3008: s.slots.ReleaseLock is given the caller's context`
			println(err)
		}
	}()
	return work()
}

func (s *service) Pay(ctx context.Context) error {
	token, err := s.lock.Acquire(ctx, "pay", time.Minute)
	if err != nil {
		return err
	}
	defer func() { _ = s.lock.Release(ctx, "pay", token) }() // want `LL3008: s.lock.Release is given the caller's context`
	return work()
}

func (s *service) Cancel(ctx context.Context) error {
	token, err := s.lock.Acquire(ctx, "pay", time.Minute)
	if err != nil {
		return err
	}
	defer func() { _ = s.lock.Release(context.WithoutCancel(ctx), "pay", token) }()
	return work()
}

func (s *service) Borrow(ctx context.Context) error {
	if _, err := s.pool.Acquire(ctx, "car"); err != nil {
		return err
	}
	defer s.pool.Release(ctx, "car")
	return work()
}
