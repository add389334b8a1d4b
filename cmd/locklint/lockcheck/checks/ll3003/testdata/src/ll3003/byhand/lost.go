package byhand

import (
	"context"
	"crypto/rand"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"
)

// The lock is gone where whoever asks for it is told so: there is nothing to release.

var (
	errLost = errors.New("lost")
	del     = redis.NewScript(`if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("DEL", KEYS[1]) end return 0`)
	extend  = redis.NewScript(`if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("PEXPIRE", KEYS[1], ARGV[2]) end return 0`)
)

func work(context.Context) error { return nil }

func lostByCount(ctx context.Context, rdb *redis.Client) error {
	token := rand.Text()
	if ok, err := rdb.SetNX(ctx, "lock:a", token, time.Minute).Result(); err != nil || !ok {
		return errors.Join(err, errBusy)
	}
	n, err := extend.Run(ctx, rdb, []string{"lock:a"}, token, 60000).Int()
	if err == nil && n == 0 {
		return errLost
	}
	err = work(ctx)
	del.Run(context.Background(), rdb, []string{"lock:a"}, token)
	return err
}

func lostByFlag(ctx context.Context, rdb *redis.Client) error {
	token := rand.Text()
	if ok, err := rdb.SetNX(ctx, "lock:a", token, time.Minute).Result(); err != nil || !ok {
		return errors.Join(err, errBusy)
	}
	for range 3 {
		if held, err := extend.Run(ctx, rdb, []string{"lock:a"}, token, 60000).Bool(); err == nil && !held {
			return errLost
		}
		if err := work(ctx); err != nil {
			return errors.Join(err, del.Run(context.Background(), rdb, []string{"lock:a"}, token).Err())
		}
	}
	return del.Run(context.Background(), rdb, []string{"lock:a"}, token).Err()
}

func prolong(ctx context.Context, rdb *redis.Client, key, token string) (bool, error) {
	n, err := extend.Run(ctx, rdb, []string{key}, token, 60000).Int64()
	return n == 1, err
}

func lostByHelper(ctx context.Context, rdb *redis.Client) error {
	token := rand.Text()
	if ok, err := rdb.SetNX(ctx, "lock:a", token, time.Minute).Result(); err != nil || !ok {
		return errors.Join(err, errBusy)
	}
	held, err := prolong(ctx, rdb, "lock:a", token)
	if err == nil && !held {
		return errLost
	}
	err = work(ctx)
	del.Run(context.Background(), rdb, []string{"lock:a"}, token)
	return err
}

func lostByExpiry(ctx context.Context, rdb *redis.Client) error {
	token := rand.Text()
	if ok, err := rdb.SetNX(ctx, "lock:a", token, time.Minute).Result(); err != nil || !ok {
		return errors.Join(err, errBusy)
	}
	if held, err := rdb.PExpire(ctx, "lock:a", time.Minute).Result(); err == nil && !held {
		return errLost
	}
	err := work(ctx)
	del.Run(context.Background(), rdb, []string{"lock:a"}, token)
	return err
}

func lostByOwner(ctx context.Context, rdb *redis.Client) error {
	token := rand.Text()
	if ok, err := rdb.SetNX(ctx, "lock:a", token, time.Minute).Result(); err != nil || !ok {
		return errors.Join(err, errBusy)
	}
	owner, err := rdb.Get(ctx, "lock:a").Result()
	if errors.Is(err, redis.Nil) {
		return errLost
	}
	if err == nil && owner != token {
		return errLost
	}
	err = work(ctx)
	del.Run(context.Background(), rdb, []string{"lock:a"}, token)
	return err
}

func lostInVariable(ctx context.Context, rdb *redis.Client) error {
	token := rand.Text()
	if ok, err := rdb.SetNX(ctx, "lock:a", token, time.Minute).Result(); err != nil || !ok {
		return errors.Join(err, errBusy)
	}
	if same := rdb.Get(ctx, "lock:a").Val() == token; !same {
		return errLost
	}
	err := work(ctx)
	del.Run(context.Background(), rdb, []string{"lock:a"}, token)
	return err
}

// An error says nothing of the lock.
func perhapsLost(ctx context.Context, rdb *redis.Client) error {
	token := rand.Text()
	if ok, err := rdb.SetNX(ctx, "lock:a", token, time.Minute).Result(); err != nil || !ok { // want `LL3003: the lock from rdb.SetNX is not released on every path: the return at line 122, where something has failed, leaves it held`
		return errors.Join(err, errBusy)
	}
	n, err := extend.Run(ctx, rdb, []string{"lock:a"}, token, 60000).Int()
	if err != nil || n == 0 {
		return errLost
	}
	err = work(ctx)
	del.Run(context.Background(), rdb, []string{"lock:a"}, token)
	return err
}

// It is still there where it is prolonged, or still its owner's.
func stillHeld(ctx context.Context, rdb *redis.Client) error {
	token := rand.Text()
	if ok, err := rdb.SetNX(ctx, "lock:a", token, time.Minute).Result(); err != nil || !ok { // want `LL3003: the lock from rdb.SetNX is not released on every path: the return at line 136, where something has failed, and 1 more leaves it held`
		return errors.Join(err, errBusy)
	}
	if n, err := extend.Run(ctx, rdb, []string{"lock:a"}, token, 60000).Int(); err == nil && n == 1 {
		return errBusy
	}
	if rdb.Get(ctx, "lock:a").Val() == token {
		return errBusy
	}
	err := work(ctx)
	del.Run(context.Background(), rdb, []string{"lock:a"}, token)
	return err
}

// It is another lock that is lost.
func otherLost(ctx context.Context, rdb *redis.Client) error {
	token := rand.Text()
	if ok, err := rdb.SetNX(ctx, "lock:a", token, time.Minute).Result(); err != nil || !ok { // want `LL3003: the lock from rdb.SetNX is not released on every path: the return at line 153, where something has failed, leaves it held`
		return errors.Join(err, errBusy)
	}
	if n, err := extend.Run(ctx, rdb, []string{"lock:b"}, token, 60000).Int(); err == nil && n == 0 {
		return errLost
	}
	err := work(ctx)
	del.Run(context.Background(), rdb, []string{"lock:a"}, token)
	return err
}
