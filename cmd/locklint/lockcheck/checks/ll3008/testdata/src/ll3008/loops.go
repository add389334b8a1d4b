package ll3008

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

// Rounds of a loop that runs until its context ends: that may happen during a round.

type rounds struct {
	rdb   *redis.Client
	slots distributedLock
	next  func(ctx context.Context) (string, error)
}

func (j *rounds) Run(ctx context.Context) {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			j.round(ctx)
			j.plain(ctx)
			j.detached(ctx)
			j.kept(ctx)
		}
	}
}

func (j *rounds) round(ctx context.Context) {
	for _, name := range []string{"a", "b"} {
		j.one(ctx, name)
	}
}

func (j *rounds) one(ctx context.Context, name string) error {
	token, err := j.slots.Acquire(ctx, name, time.Minute)
	if err != nil {
		return err
	}
	defer j.slots.Release(ctx, name, token) // want `LL3008: j.slots.Release is given a context that ends the loop of Run`
	return work()
}

// The release does not compare the owner, and leaves the key behind nonetheless.
func (j *rounds) plain(ctx context.Context) error {
	if ok, err := j.rdb.SetNX(ctx, "lock:plain", "x", time.Minute).Result(); err != nil || !ok {
		return err
	}
	defer j.rdb.Del(ctx, "lock:plain") // want `LL3008: j.rdb.Del is given a context that ends the loop of Run`
	return work()
}

func (j *rounds) detached(ctx context.Context) error {
	token, err := j.slots.Acquire(ctx, "detached", time.Minute)
	if err != nil {
		return err
	}
	defer j.slots.Release(context.WithoutCancel(ctx), "detached", token)
	return work()
}

// Nothing is released: it is kept until its TTL.
func (j *rounds) kept(ctx context.Context) error {
	if _, err := j.slots.Acquire(ctx, "kept", time.Minute); err != nil {
		return err
	}
	return work()
}

// A loop that asks for the next thing to do, and looks at its context where that fails.
func (j *rounds) Consume(ctx context.Context) error {
	for {
		id, err := j.next(ctx)
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			continue
		}
		j.consume(ctx, id)
	}
}

func (j *rounds) consume(ctx context.Context, id string) error {
	if ok, err := j.rdb.SetNX(ctx, "lock:"+id, "x", time.Minute).Result(); err != nil || !ok {
		return err
	}
	defer j.rdb.Del(ctx, "lock:"+id) // want `LL3008: j.rdb.Del is given a context that ends the loop of Consume`
	return work()
}

// A loop that does not look at its context, and one that is over before the work.

func (j *rounds) all(ctx context.Context, ids []string) {
	for _, id := range ids {
		j.each(ctx, id)
	}
	for ctx.Err() == nil {
		if work() == nil {
			break
		}
	}
	j.each(ctx, "last")
}

func (j *rounds) each(ctx context.Context, id string) error {
	if ok, err := j.rdb.SetNX(ctx, "lock:each:"+id, "x", time.Minute).Result(); err != nil || !ok {
		return err
	}
	defer j.rdb.Del(ctx, "lock:each:"+id)
	return work()
}
