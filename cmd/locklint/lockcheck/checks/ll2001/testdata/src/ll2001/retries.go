package ll2001

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/redis/go-redis/v9"
)

// Functions that try several times say with their error whether they have the lock.

type retries struct{ rdb *redis.Client }

func (r *retries) unlock(ctx context.Context, key, token string) error {
	return freeIfMine.Run(ctx, r.rdb, []string{key}, token).Err()
}

var freeIfMine = redis.NewScript(`if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("DEL", KEYS[1]) end return 0`)

func (r *retries) counted(ctx context.Context, key, token string) error {
	for i := 0; i < 10; i++ {
		ok, err := r.rdb.SetNX(ctx, key, token, time.Minute).Result()
		if err != nil {
			return err
		}
		if ok {
			return nil
		}
		time.Sleep(time.Second)
	}
	return errTaken
}

func countedGoesOn(ctx context.Context, r *retries, token string, work func() error) error {
	if err := r.counted(ctx, "lock:counted", token); err != nil { // want `LL2001: when SetNX \(through retries.counted\) has not got the lock, the code goes on without it`
		log.Print(err)
	}
	defer r.unlock(context.WithoutCancel(ctx), "lock:counted", token)
	return work()
}

func countedUnasked(ctx context.Context, r *retries, token string, work func() error) error {
	r.counted(ctx, "lock:counted", token) // want `LL2001: the outcome of SetNX \(through retries.counted\) is ignored`
	defer r.unlock(context.WithoutCancel(ctx), "lock:counted", token)
	return work()
}

func countedRight(ctx context.Context, r *retries, token string, work func() error) error {
	if err := r.counted(ctx, "lock:counted", token); err != nil {
		return err
	}
	defer r.unlock(context.WithoutCancel(ctx), "lock:counted", token)
	return work()
}

func (r *retries) ranged(ctx context.Context, key, token string) error {
	for range 10 {
		ok, err := r.rdb.SetNX(ctx, key, token, time.Minute).Result()
		if err != nil {
			return err
		}
		if ok {
			return nil
		}
		time.Sleep(time.Second)
	}
	return fmt.Errorf("taken")
}

func rangedGoesOn(ctx context.Context, r *retries, token string, work func() error) error {
	if err := r.ranged(ctx, "lock:ranged", token); err != nil { // want `LL2001: when SetNX \(through retries.ranged\) has not got the lock, the code goes on without it`
		log.Print(err)
	}
	defer r.unlock(context.WithoutCancel(ctx), "lock:ranged", token)
	return work()
}

func rangedUnasked(ctx context.Context, r *retries, token string, work func() error) error {
	r.ranged(ctx, "lock:ranged", token) // want `LL2001: the outcome of SetNX \(through retries.ranged\) is ignored`
	defer r.unlock(context.WithoutCancel(ctx), "lock:ranged", token)
	return work()
}

func rangedRight(ctx context.Context, r *retries, token string, work func() error) error {
	if err := r.ranged(ctx, "lock:ranged", token); err != nil {
		return err
	}
	defer r.unlock(context.WithoutCancel(ctx), "lock:ranged", token)
	return work()
}

func (r *retries) until(ctx context.Context, key, token string) error {
	for end := time.Now().Add(time.Second); time.Now().Before(end); {
		ok, err := r.rdb.SetNX(ctx, key, token, time.Minute).Result()
		if err != nil {
			return err
		}
		if ok {
			return nil
		}
		time.Sleep(time.Second)
	}
	return errTaken
}

func untilGoesOn(ctx context.Context, r *retries, token string, work func() error) error {
	if err := r.until(ctx, "lock:until", token); err != nil { // want `LL2001: when SetNX \(through retries.until\) has not got the lock, the code goes on without it`
		log.Print(err)
	}
	defer r.unlock(context.WithoutCancel(ctx), "lock:until", token)
	return work()
}

func untilUnasked(ctx context.Context, r *retries, token string, work func() error) error {
	r.until(ctx, "lock:until", token) // want `LL2001: the outcome of SetNX \(through retries.until\) is ignored`
	defer r.unlock(context.WithoutCancel(ctx), "lock:until", token)
	return work()
}

func untilRight(ctx context.Context, r *retries, token string, work func() error) error {
	if err := r.until(ctx, "lock:until", token); err != nil {
		return err
	}
	defer r.unlock(context.WithoutCancel(ctx), "lock:until", token)
	return work()
}

func (r *retries) cancelled(ctx context.Context, key, token string) error {
	for {
		ok, err := r.rdb.SetNX(ctx, key, token, time.Minute).Result()
		if err != nil {
			return err
		}
		if ok {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Second):
		}
	}
}

func cancelledGoesOn(ctx context.Context, r *retries, token string, work func() error) error {
	if err := r.cancelled(ctx, "lock:cancelled", token); err != nil { // want `LL2001: when SetNX \(through retries.cancelled\) has not got the lock, the code goes on without it`
		log.Print(err)
	}
	defer r.unlock(context.WithoutCancel(ctx), "lock:cancelled", token)
	return work()
}

func cancelledUnasked(ctx context.Context, r *retries, token string, work func() error) error {
	r.cancelled(ctx, "lock:cancelled", token) // want `LL2001: the outcome of SetNX \(through retries.cancelled\) is ignored`
	defer r.unlock(context.WithoutCancel(ctx), "lock:cancelled", token)
	return work()
}

func cancelledRight(ctx context.Context, r *retries, token string, work func() error) error {
	if err := r.cancelled(ctx, "lock:cancelled", token); err != nil {
		return err
	}
	defer r.unlock(context.WithoutCancel(ctx), "lock:cancelled", token)
	return work()
}

func (r *retries) ended(ctx context.Context, key, token string) error {
	for ctx.Err() == nil {
		ok, err := r.rdb.SetNX(ctx, key, token, time.Minute).Result()
		if err != nil {
			return err
		}
		if ok {
			return nil
		}
		time.Sleep(time.Second)
	}
	return context.Cause(ctx)
}

func endedGoesOn(ctx context.Context, r *retries, token string, work func() error) error {
	if err := r.ended(ctx, "lock:ended", token); err != nil { // want `LL2001: when SetNX \(through retries.ended\) has not got the lock, the code goes on without it`
		log.Print(err)
	}
	defer r.unlock(context.WithoutCancel(ctx), "lock:ended", token)
	return work()
}

func endedUnasked(ctx context.Context, r *retries, token string, work func() error) error {
	r.ended(ctx, "lock:ended", token) // want `LL2001: the outcome of SetNX \(through retries.ended\) is ignored`
	defer r.unlock(context.WithoutCancel(ctx), "lock:ended", token)
	return work()
}

func endedRight(ctx context.Context, r *retries, token string, work func() error) error {
	if err := r.ended(ctx, "lock:ended", token); err != nil {
		return err
	}
	defer r.unlock(context.WithoutCancel(ctx), "lock:ended", token)
	return work()
}

func (r *retries) endless(ctx context.Context, key, token string) error {
	for {
		ok, err := r.rdb.SetNX(ctx, key, token, time.Minute).Result()
		if err != nil {
			return err
		}
		if ok {
			return nil
		}
		time.Sleep(time.Second)
	}
}

func endlessGoesOn(ctx context.Context, r *retries, token string, work func() error) error {
	if err := r.endless(ctx, "lock:endless", token); err != nil { // want `LL2001: when SetNX \(through retries.endless\) has not got the lock, the code goes on without it`
		log.Print(err)
	}
	defer r.unlock(context.WithoutCancel(ctx), "lock:endless", token)
	return work()
}

func endlessUnasked(ctx context.Context, r *retries, token string, work func() error) error {
	r.endless(ctx, "lock:endless", token) // want `LL2001: the outcome of SetNX \(through retries.endless\) is ignored`
	defer r.unlock(context.WithoutCancel(ctx), "lock:endless", token)
	return work()
}

func endlessRight(ctx context.Context, r *retries, token string, work func() error) error {
	if err := r.endless(ctx, "lock:endless", token); err != nil {
		return err
	}
	defer r.unlock(context.WithoutCancel(ctx), "lock:endless", token)
	return work()
}

// chosen returns in one place.
func (r *retries) chosen(ctx context.Context, key, token string) error {
	result := errTaken
	for range 3 {
		ok, err := r.rdb.SetNX(ctx, key, token, time.Minute).Result()
		if err != nil {
			result = err
			break
		}
		if ok {
			result = nil
			break
		}
		time.Sleep(time.Second)
	}
	return result
}

func chosenGoesOn(ctx context.Context, r *retries, token string, work func() error) error {
	if err := r.chosen(ctx, "lock:chosen", token); err != nil { // want `LL2001: when SetNX \(through retries.chosen\) has not got the lock, the code goes on without it`
		log.Print(err)
	}
	defer r.unlock(context.WithoutCancel(ctx), "lock:chosen", token)
	return work()
}

func chosenUnasked(ctx context.Context, r *retries, token string, work func() error) error {
	r.chosen(ctx, "lock:chosen", token) // want `LL2001: the outcome of SetNX \(through retries.chosen\) is ignored`
	defer r.unlock(context.WithoutCancel(ctx), "lock:chosen", token)
	return work()
}

func chosenRight(ctx context.Context, r *retries, token string, work func() error) error {
	if err := r.chosen(ctx, "lock:chosen", token); err != nil {
		return err
	}
	defer r.unlock(context.WithoutCancel(ctx), "lock:chosen", token)
	return work()
}

// waiting returns an error only before it tries.
func (r *retries) waiting(ctx context.Context, key, token string) error {
	if token == "" {
		return errors.New("no token")
	}
	for {
		if r.rdb.SetNX(ctx, key, token, time.Minute).Val() {
			return nil
		}
		time.Sleep(time.Second)
	}
}

func waitingUnasked(ctx context.Context, r *retries, work func() error) error {
	r.waiting(ctx, "lock:waiting", "me")
	defer r.unlock(context.WithoutCancel(ctx), "lock:waiting", "me")
	return work()
}
