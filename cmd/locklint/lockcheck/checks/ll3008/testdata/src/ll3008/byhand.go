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
