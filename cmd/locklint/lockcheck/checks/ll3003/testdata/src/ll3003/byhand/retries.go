package byhand

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// Functions that try several times say with their error whether they have the lock.

var errTaken = errors.New("taken")

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

func countedEarly(ctx context.Context, r *retries, token string, work func() error) error {
	if err := r.counted(ctx, "lock:counted", token); err != nil { // want `LL3003: the lock from r.counted is not released on every path`
		return err
	}
	if err := work(); err != nil {
		return err
	}
	return r.unlock(context.WithoutCancel(ctx), "lock:counted", token)
}

func countedRight(ctx context.Context, r *retries, token string, work func() error) error {
	if err := r.counted(ctx, "lock:counted", token); err != nil {
		return err
	}
	if err := work(); err != nil {
		_ = r.unlock(context.WithoutCancel(ctx), "lock:counted", token)
		return err
	}
	return r.unlock(context.WithoutCancel(ctx), "lock:counted", token)
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

func rangedEarly(ctx context.Context, r *retries, token string, work func() error) error {
	if err := r.ranged(ctx, "lock:ranged", token); err != nil { // want `LL3003: the lock from r.ranged is not released on every path`
		return err
	}
	if err := work(); err != nil {
		return err
	}
	return r.unlock(context.WithoutCancel(ctx), "lock:ranged", token)
}

func rangedRight(ctx context.Context, r *retries, token string, work func() error) error {
	if err := r.ranged(ctx, "lock:ranged", token); err != nil {
		return err
	}
	if err := work(); err != nil {
		_ = r.unlock(context.WithoutCancel(ctx), "lock:ranged", token)
		return err
	}
	return r.unlock(context.WithoutCancel(ctx), "lock:ranged", token)
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

func untilEarly(ctx context.Context, r *retries, token string, work func() error) error {
	if err := r.until(ctx, "lock:until", token); err != nil { // want `LL3003: the lock from r.until is not released on every path`
		return err
	}
	if err := work(); err != nil {
		return err
	}
	return r.unlock(context.WithoutCancel(ctx), "lock:until", token)
}

func untilRight(ctx context.Context, r *retries, token string, work func() error) error {
	if err := r.until(ctx, "lock:until", token); err != nil {
		return err
	}
	if err := work(); err != nil {
		_ = r.unlock(context.WithoutCancel(ctx), "lock:until", token)
		return err
	}
	return r.unlock(context.WithoutCancel(ctx), "lock:until", token)
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

func cancelledEarly(ctx context.Context, r *retries, token string, work func() error) error {
	if err := r.cancelled(ctx, "lock:cancelled", token); err != nil { // want `LL3003: the lock from r.cancelled is not released on every path`
		return err
	}
	if err := work(); err != nil {
		return err
	}
	return r.unlock(context.WithoutCancel(ctx), "lock:cancelled", token)
}

func cancelledRight(ctx context.Context, r *retries, token string, work func() error) error {
	if err := r.cancelled(ctx, "lock:cancelled", token); err != nil {
		return err
	}
	if err := work(); err != nil {
		_ = r.unlock(context.WithoutCancel(ctx), "lock:cancelled", token)
		return err
	}
	return r.unlock(context.WithoutCancel(ctx), "lock:cancelled", token)
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

func endedEarly(ctx context.Context, r *retries, token string, work func() error) error {
	if err := r.ended(ctx, "lock:ended", token); err != nil { // want `LL3003: the lock from r.ended is not released on every path`
		return err
	}
	if err := work(); err != nil {
		return err
	}
	return r.unlock(context.WithoutCancel(ctx), "lock:ended", token)
}

func endedRight(ctx context.Context, r *retries, token string, work func() error) error {
	if err := r.ended(ctx, "lock:ended", token); err != nil {
		return err
	}
	if err := work(); err != nil {
		_ = r.unlock(context.WithoutCancel(ctx), "lock:ended", token)
		return err
	}
	return r.unlock(context.WithoutCancel(ctx), "lock:ended", token)
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

func endlessEarly(ctx context.Context, r *retries, token string, work func() error) error {
	if err := r.endless(ctx, "lock:endless", token); err != nil { // want `LL3003: the lock from r.endless is not released on every path`
		return err
	}
	if err := work(); err != nil {
		return err
	}
	return r.unlock(context.WithoutCancel(ctx), "lock:endless", token)
}

func endlessRight(ctx context.Context, r *retries, token string, work func() error) error {
	if err := r.endless(ctx, "lock:endless", token); err != nil {
		return err
	}
	if err := work(); err != nil {
		_ = r.unlock(context.WithoutCancel(ctx), "lock:endless", token)
		return err
	}
	return r.unlock(context.WithoutCancel(ctx), "lock:endless", token)
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

func chosenEarly(ctx context.Context, r *retries, token string, work func() error) error {
	if err := r.chosen(ctx, "lock:chosen", token); err != nil { // want `LL3003: the lock from r.chosen is not released on every path`
		return err
	}
	if err := work(); err != nil {
		return err
	}
	return r.unlock(context.WithoutCancel(ctx), "lock:chosen", token)
}

func chosenRight(ctx context.Context, r *retries, token string, work func() error) error {
	if err := r.chosen(ctx, "lock:chosen", token); err != nil {
		return err
	}
	if err := work(); err != nil {
		_ = r.unlock(context.WithoutCancel(ctx), "lock:chosen", token)
		return err
	}
	return r.unlock(context.WithoutCancel(ctx), "lock:chosen", token)
}

// last returns nil where the last try has found the lock taken.
func (r *retries) last(ctx context.Context, key, token string) error {
	var ok bool
	var err error
	for range 3 {
		if ok, err = r.rdb.SetNX(ctx, key, token, time.Minute).Result(); err == nil && ok {
			return nil
		}
		time.Sleep(time.Second)
	}
	return err
}

// either returns nil where the lock is taken.
func (r *retries) either(ctx context.Context, key, token string) error {
	if ok, err := r.rdb.SetNX(ctx, key, token, time.Minute).Result(); err != nil || !ok {
		return err
	}
	return nil
}

// ending returns what the context says that need not be over yet.
func (r *retries) ending(ctx context.Context, key, token string) error {
	for range 3 {
		ok, err := r.rdb.SetNX(ctx, key, token, time.Minute).Result()
		if err != nil {
			return err
		}
		if ok {
			return nil
		}
	}
	return ctx.Err()
}

func lastEarly(ctx context.Context, r *retries, token string, work func() error) error {
	if err := r.last(ctx, "lock:last", token); err != nil {
		return err
	}
	if err := work(); err != nil {
		return err
	}
	return r.unlock(context.WithoutCancel(ctx), "lock:last", token)
}

func eitherEarly(ctx context.Context, r *retries, token string, work func() error) error {
	if err := r.either(ctx, "lock:either", token); err != nil {
		return err
	}
	if err := work(); err != nil {
		return err
	}
	return r.unlock(context.WithoutCancel(ctx), "lock:either", token)
}

func endingEarly(ctx context.Context, r *retries, token string, work func() error) error {
	if err := r.ending(ctx, "lock:ending", token); err != nil {
		return err
	}
	if err := work(); err != nil {
		return err
	}
	return r.unlock(context.WithoutCancel(ctx), "lock:ending", token)
}

// patient tries once, and then again.
func (r *retries) patient(ctx context.Context, key, token string) error {
	if ok, err := r.rdb.SetNX(ctx, key, token, time.Minute).Result(); err != nil {
		return err
	} else if ok {
		return nil
	}
	for range 3 {
		time.Sleep(time.Second)
		if ok, err := r.rdb.SetNX(ctx, key, token, time.Minute).Result(); err != nil {
			return err
		} else if ok {
			return nil
		}
	}
	return errTaken
}

func patientEarly(ctx context.Context, r *retries, token string, work func() error) error {
	if err := r.patient(ctx, "lock:patient", token); err != nil { // want `LL3003: the lock from r.patient is not released on every path`
		return err
	}
	if err := work(); err != nil {
		return err
	}
	return r.unlock(context.WithoutCancel(ctx), "lock:patient", token)
}

func patientRight(ctx context.Context, r *retries, token string, work func() error) error {
	if err := r.patient(ctx, "lock:patient", token); err != nil {
		return err
	}
	defer r.unlock(context.WithoutCancel(ctx), "lock:patient", token)
	return work()
}

func (r *retries) once(ctx context.Context, key, token string) error {
	ok, err := r.rdb.SetNX(ctx, key, token, time.Minute).Result()
	if err != nil {
		return err
	}
	if !ok {
		return errTaken
	}
	return nil
}

// several returns what the last try has found.
func (r *retries) several(ctx context.Context, key, token string) error {
	var err error
	for i := 0; i < 3; i++ {
		if err = r.once(ctx, key, token); err == nil {
			break
		}
		time.Sleep(time.Second)
	}
	return err
}

func severalEarly(ctx context.Context, r *retries, token string, work func() error) error {
	if err := r.several(ctx, "lock:several", token); err != nil { // want `LL3003: the lock from r.several is not released on every path`
		return err
	}
	if err := work(); err != nil {
		return err
	}
	return r.unlock(context.WithoutCancel(ctx), "lock:several", token)
}

// forgetful returns the error of a try before the last.
func (r *retries) forgetful(ctx context.Context, key, token string) error {
	var first error
	for i := 0; i < 3; i++ {
		err := r.once(ctx, key, token)
		if err == nil {
			return nil
		}
		if i == 2 {
			break
		}
		first = err
	}
	return first
}

func forgetfulEarly(ctx context.Context, r *retries, token string, work func() error) error {
	if err := r.forgetful(ctx, "lock:forgetful", token); err != nil {
		return err
	}
	if err := work(); err != nil {
		return err
	}
	return r.unlock(context.WithoutCancel(ctx), "lock:forgetful", token)
}
