package byhand

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

var errBusy = errors.New("busy")

type accounts struct{ rdb *redis.Client }

func lockKey(id, coin string) string { return "lock:" + id + ":" + coin }

func (s *accounts) AcquireLock(ctx context.Context, id, coin string) (bool, error) {
	return s.rdb.SetNX(ctx, lockKey(id, coin), "1", 10*time.Second).Result()
}

func (s *accounts) ReleaseLock(ctx context.Context, id, coin string) error {
	return s.rdb.Del(ctx, lockKey(id, coin)).Err()
}

// wait comes back only with the lock.
func (s *accounts) wait(ctx context.Context, id, coin string) (bool, error) {
	for {
		if ok, err := s.AcquireLock(ctx, id, coin); !ok || err != nil {
			time.Sleep(time.Second)
			continue
		}
		return true, nil
	}
}

type user struct{ id string }

func (s *accounts) deposit(ctx context.Context, users []*user, insert func(*user) error, told func(error) error) error {
	for _, u := range users {
		if ok, err := s.wait(ctx, u.id, "x"); err != nil || !ok { // want `LL3003: the lock from s.wait is not released on every path: the return at line 45, where something has failed, and 1 more leaves it held until it expires`
			return told(err)
		}
		if err := insert(u); err != nil {
			return told(err)
		}
		if err := insert(u); err != nil {
			return told(err)
		}
		if err := s.ReleaseLock(ctx, u.id, "x"); err != nil {
			return told(err)
		}
	}
	return nil
}

func (s *accounts) depositSafely(ctx context.Context, u *user, insert func(*user) error) error {
	if ok, err := s.AcquireLock(ctx, u.id, "x"); err != nil || !ok {
		return err
	}
	if err := insert(u); err != nil {
		_ = s.ReleaseLock(ctx, u.id, "x")
		return err
	}
	return s.ReleaseLock(ctx, u.id, "x")
}

func (s *accounts) depositDeferred(ctx context.Context, u *user, insert func(*user) error) error {
	ok, err := s.AcquireLock(ctx, u.id, "x")
	if err != nil {
		return err
	}
	if !ok {
		return errBusy
	}
	defer s.ReleaseLock(ctx, u.id, "x")
	if err := insert(u); err != nil {
		return err
	}
	return nil
}

// depositOnce keeps its lock where it has succeeded: no release there is none to forget.
func (s *accounts) depositOnce(ctx context.Context, u *user, insert func(*user) error) error {
	if ok, err := s.AcquireLock(ctx, u.id, "x"); err != nil || !ok {
		return err
	}
	if err := insert(u); err != nil {
		_ = s.ReleaseLock(ctx, u.id, "x")
		return err
	}
	return nil
}

// depositThere tells somebody who may release.
func (s *accounts) depositThere(ctx context.Context, u *user, insert func(*user) error, abort func(*user)) error {
	if ok, err := s.AcquireLock(ctx, u.id, "x"); err != nil || !ok {
		return err
	}
	if err := insert(u); err != nil {
		abort(u)
		return err
	}
	return s.ReleaseLock(ctx, u.id, "x")
}

// inOne is direct.
func inOne(ctx context.Context, rdb *redis.Client, work func() error) error {
	ok, err := rdb.SetNX(ctx, "lock:one", "1", time.Minute).Result() // want `LL3003: the lock from rdb.SetNX is not released on every path: the return at line 117`
	if err != nil {
		return err
	}
	if !ok {
		return errBusy
	}
	if err := work(); err != nil {
		return err
	}
	return rdb.Del(ctx, "lock:one").Err()
}

// otherKey releases another.
func otherKey(ctx context.Context, rdb *redis.Client, work func() error) error {
	ok, err := rdb.SetNX(ctx, "lock:two", "1", time.Minute).Result()
	if err != nil || !ok {
		return err
	}
	if err := work(); err != nil {
		return err
	}
	return rdb.Del(ctx, "two").Err()
}

// tryLock says by its second result whether it may be asked again.
func (s *accounts) tryLock(ctx context.Context, key string) (locked, again bool, err error) {
	ok, err := s.rdb.SetNX(ctx, "lock:"+key, "1", 10*time.Second).Result()
	if err != nil {
		return false, err == context.DeadlineExceeded && ctx.Err() == nil, err
	}
	return ok, false, nil
}

func (s *accounts) drop(ctx context.Context, key string, until time.Time) error {
	if time.Now().After(until) {
		return nil
	}
	return s.rdb.Del(ctx, "lock:"+key).Err()
}

func (s *accounts) rename(ctx context.Context, key string, poll bool, do func() error) error {
	var until time.Time
	for {
		locked, again, err := s.tryLock(ctx, key)
		until = time.Now().Add(10 * time.Second)
		if err != nil {
			failed := s.drop(ctx, key, until)
			if poll && again && failed == nil && ctx.Err() == nil {
				continue
			}
			return fmt.Errorf("lock: %w", err)
		}
		if locked {
			break
		}
		if !poll {
			return errBusy
		}
		time.Sleep(time.Second)
	}
	err := do()
	if failed := s.drop(ctx, key, until); err == nil {
		return failed
	}
	return err
}

// tries keeps the outcome in the flag of its loop.
func tries(ctx context.Context, rdb *redis.Client, work func() error) error {
	got := false
	for i := 0; i < 3 && !got; i++ {
		ok, err := rdb.SetNX(ctx, "lock:tries", "1", time.Minute).Result()
		if err != nil {
			return err
		}
		if got = ok; !got {
			time.Sleep(time.Second)
		}
	}
	if !got {
		return errBusy
	}
	failed := work()
	if err := rdb.Del(ctx, "lock:tries").Err(); err != nil {
		return err
	}
	return failed
}

func triesAndFails(ctx context.Context, rdb *redis.Client, work func() error) error {
	got := false
	for !got {
		ok, err := rdb.SetNX(ctx, "lock:fails", "1", time.Minute).Result() // want `LL3003: the lock from rdb.SetNX is not released on every path: the return at line 212`
		if err != nil {
			return err
		}
		got = ok
	}
	if !got {
		return errBusy
	}
	if err := work(); err != nil {
		return err
	}
	return rdb.Del(ctx, "lock:fails").Err()
}
