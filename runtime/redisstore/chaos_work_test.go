//go:build linux

package redisstore_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	lockrt "github.com/lockgen/lockgen/runtime"
)

// work uses locks in all ways until the process is to end.
func (c *chaosChild) work(r *rand.Rand) {
	for !c.draining.Load() {
		locks := c.locks[r.IntN(len(c.locks))]
		switch n := r.IntN(40); {
		case n == 0:
			c.breakOne(r, locks)
		case n < 4:
			c.visitTwo(r, locks)
		default:
			c.visit(r, locks)
		}
		time.Sleep(upTo(r, 5*time.Millisecond))
	}
}

// options are those of one acquisition, and how long it may last until its context is cancelled; 0: for ever.
func chaosOptions(r *rand.Rand) (o lockrt.Options, patience time.Duration) {
	o = lockrt.Options{TTL: chaosMinTTL + upTo(r, 1+upTo(r, chaosMaxTTL-chaosMinTTL)), NoRenew: r.IntN(3) == 0}
	switch r.IntN(4) {
	case 0:
	case 1:
		o.Wait = upTo(r, 500*time.Millisecond)
	default:
		o.Wait = lockrt.Forever
	}
	if r.IntN(5) == 0 {
		o.MinHold = upTo(r, 100*time.Millisecond)
	}
	if r.IntN(4) == 0 {
		patience = 1 + upTo(r, 300*time.Millisecond)
	}
	return o, patience
}

func (c *chaosChild) visit(r *rand.Rand, locks *lockrt.Locker) {
	key := c.plan.Keys[r.IntN(len(c.plan.Keys))]
	o, patience := chaosOptions(r)
	ctx, cancel := c.context(patience)
	defer cancel()
	//locklint:ignore LL1001 one in twenty forgets to release, on purpose
	lease, err := locks.Acquire(ctx, key, o)
	if err != nil {
		c.judge(ctx, "acquire", err)
		return
	}
	c.visits.Add(1)
	stay := upTo(r, 40*time.Millisecond)
	if o.NoRenew && r.IntN(20) == 0 {
		c.observe(lease, key, chaosMaxTTL) // as one that forgets to release
		return
	}
	if r.IntN(10) == 0 {
		stay *= 10
	}
	c.observe(lease, key, stay)
	c.release(lease)
}

func (c *chaosChild) visitTwo(r *rand.Rand, locks *lockrt.Locker) {
	o, patience := chaosOptions(r)
	ctx, cancel := c.context(patience)
	defer cancel()
	first := r.IntN(len(c.plan.Keys))
	keys := []string{c.plan.Keys[first], c.plan.Keys[(first+1)%len(c.plan.Keys)]}
	leases, err := locks.AcquireAll(ctx, keys, o)
	if err != nil {
		c.judge(ctx, "acquire all", err)
		return
	}
	c.visits.Add(1)
	var both sync.WaitGroup
	stay := upTo(r, 20*time.Millisecond)
	for _, lease := range leases {
		both.Go(func() { c.observe(lease, lease.Key(), stay) })
	}
	both.Wait()
	for _, lease := range leases {
		c.release(lease)
	}
}

func (c *chaosChild) breakOne(r *rand.Rand, locks *lockrt.Locker) {
	ctx, cancel := c.context(time.Second)
	defer cancel()
	err := locks.Break(ctx, c.plan.Keys[r.IntN(len(c.plan.Keys))], "chaos")
	if err != nil && !errors.Is(err, lockrt.ErrNotHeld) {
		c.judge(ctx, "break", err)
	}
}

func (c *chaosChild) context(patience time.Duration) (context.Context, context.CancelFunc) {
	if patience == 0 {
		return context.WithCancel(c.ctx)
	}
	return context.WithTimeout(c.ctx, patience)
}

func (c *chaosChild) release(lease *lockrt.Lease) {
	if err := lease.Release(c.ctx); err != nil && !errors.Is(err, lockrt.ErrLost) {
		c.judge(c.ctx, "release", err)
	}
}

// judge looks for an error that must not be. Others are those of a store that is away.
func (c *chaosChild) judge(ctx context.Context, tried string, err error) {
	isCtx := errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
	if isCtx && ctx.Err() == nil {
		c.say("bad error of %s, the context lives: %q", tried, err.Error())
	}
	if errors.Is(err, lockrt.ErrNested) || errors.Is(err, lockrt.ErrClosed) || errors.Is(err, lockrt.ErrOptions) {
		c.say("bad error of %s: %q", tried, err.Error())
	}
}

// observe tells from when to when the lease's context lives, at least: the moment is taken before the context is asked,
// and one that has ended never lives again.
func (c *chaosChild) observe(lease *lockrt.Lease, key string, stay time.Duration) {
	if lease == nil {
		return
	}
	const tellEvery = 20 * time.Millisecond
	ctx, from := lease.Context(), monotonic()
	if ctx.Err() != nil {
		return
	}
	to, told, end := from, int64(0), from+int64(stay)
	for {
		if to-told > int64(tellEvery) {
			c.say("alive %q %d %d %d", key, uint64(lease.Fence()), from, to)
			told = to
		}
		now := monotonic()
		if ctx.Err() != nil {
			break
		}
		if to = now; to >= end {
			break
		}
		time.Sleep(200 * time.Microsecond)
	}
	c.say("alive %q %d %d %d", key, uint64(lease.Fence()), from, to)
}

// upTo returns a time below d.
func upTo(r *rand.Rand, d time.Duration) time.Duration { return time.Duration(r.Int64N(int64(d))) }
