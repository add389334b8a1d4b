package ll2001

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

// The outcome of an acquire in a pipeline arrives with Exec, or in the command, and nobody looks there.

func queued(ctx context.Context, rdb *redis.Client) error {
	p := rdb.Pipeline()
	p.SetNX(ctx, "lock:queued", "t", time.Minute) // want `LL2001: the outcome of SetNX is ignored: everybody gets this lock`
	if _, err := p.Exec(ctx); err != nil {
		return err
	}
	defer rdb.Del(ctx, "lock:queued")
	return errBusy
}

func inMulti(ctx context.Context, rdb *redis.Client) error {
	_, err := rdb.TxPipelined(ctx, func(p redis.Pipeliner) error {
		p.SetNX(ctx, "lock:multi", "t", time.Minute) // want `LL2001: the outcome of SetNX is ignored: everybody gets this lock`
		return nil
	})
	if err != nil {
		return err
	}
	defer rdb.Del(ctx, "lock:multi")
	return errBusy
}

func asksCommand(ctx context.Context, rdb *redis.Client) error {
	p := rdb.Pipeline()
	got := p.SetNX(ctx, "lock:asked", "t", time.Minute)
	if _, err := p.Exec(ctx); err != nil || !got.Val() {
		return errBusy
	}
	defer rdb.Del(ctx, "lock:asked")
	return nil
}

func asksAll(ctx context.Context, rdb *redis.Client, ok func([]redis.Cmder) bool) error {
	p := rdb.Pipeline()
	p.SetNX(ctx, "lock:all", "t", time.Minute)
	if all, err := p.Exec(ctx); err != nil || !ok(all) {
		return errBusy
	}
	defer rdb.Del(ctx, "lock:all")
	return nil
}

// Somebody else sends it.
func sentElsewhere(ctx context.Context, rdb *redis.Client, p redis.Pipeliner) error {
	p.SetNX(ctx, "lock:elsewhere", "t", time.Minute)
	defer rdb.Del(ctx, "lock:elsewhere")
	return errBusy
}

// A key that does not say lock may as well begin a counter.
func begins(ctx context.Context, rdb *redis.Client) error {
	p := rdb.Pipeline()
	p.SetNX(ctx, "visits", 0, time.Minute)
	if _, err := p.Exec(ctx); err != nil {
		return err
	}
	defer rdb.Del(ctx, "visits")
	return nil
}
