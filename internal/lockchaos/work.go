//go:build linux

package lockchaos

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	lockrt "github.com/lockgen/lockgen/runtime"
)

// work uses locks in all ways until the process is to end.
func (c *process) work(r *rand.Rand) {
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
		time.Sleep(UpTo(r, 5*time.Millisecond))
	}
}

// options returns the options of one acquisition, and after how long its context is cancelled; 0: never.
func (c *process) options(r *rand.Rand) (o lockrt.Options, patience time.Duration) {
	o = lockrt.Options{TTL: minTTL + UpTo(r, 1+UpTo(r, maxTTL-minTTL)), NoRenew: r.IntN(3) == 0}
	switch r.IntN(4) {
	case 0:
	case 1:
		o.Wait = UpTo(r, 500*time.Millisecond)
	default:
		o.Wait = lockrt.Forever
	}
	if c.plan.Kinds {
		o.Mode, o.Permits = someKind(r)
		o.TTL = minTTL + UpTo(r, time.Second) // who is dead keeps others from coming together
	}
	if r.IntN(5) == 0 && o.Mode != lockrt.Read {
		o.MinHold = UpTo(r, 100*time.Millisecond)
	}
	if r.IntN(4) == 0 {
		patience = 1 + UpTo(r, 300*time.Millisecond)
	}
	return o, patience
}

// someKind is how a lease shares its key. Half of them read.
func someKind(r *rand.Rand) (lockrt.Mode, int) {
	switch r.IntN(8) {
	case 0, 1, 2, 3:
		return lockrt.Read, 0
	case 4, 5:
		return lockrt.Write, 2 + r.IntN(2)
	}
	return lockrt.Write, 0
}

func (c *process) visit(r *rand.Rand, locks *lockrt.Locker) {
	key := c.plan.Keys[r.IntN(len(c.plan.Keys))]
	o, patience := c.options(r)
	ctx, cancel := c.context(patience)
	defer cancel()
	asked := monotonic()
	//locklint:ignore LL1001 one in twenty forgets to release, on purpose
	lease, err := locks.Acquire(ctx, key, o)
	if err != nil {
		c.judge(ctx, "acquire", err)
		return
	}
	c.visits.Add(1)
	stay := UpTo(r, 40*time.Millisecond)
	if o.NoRenew && r.IntN(20) == 0 {
		c.observe(lease, key, o, asked, maxTTL) // as one that forgets to release
		return
	}
	if r.IntN(10) == 0 {
		stay *= 10
	}
	c.observe(lease, key, o, asked, stay)
	if Kind(o) == "writer" && o.MinHold == 0 && c.plan.Kinds && r.IntN(3) == 0 {
		if err := lease.Downgrade(ctx); err == nil {
			o.Mode = lockrt.Read
			c.observe(lease, key, o, asked, stay)
		} else if !errors.Is(err, lockrt.ErrLost) {
			//locklint:ignore LL1008 it looks at the context, and does nothing with it
			c.judge(ctx, "downgrade", err)
		}
	}
	c.release(lease)
}

func (c *process) visitTwo(r *rand.Rand, locks *lockrt.Locker) {
	o, patience := c.options(r)
	ctx, cancel := c.context(patience)
	defer cancel()
	first := r.IntN(len(c.plan.Keys))
	keys := []lockrt.KeyOptions{{Key: c.plan.Keys[first]}, {Key: c.plan.Keys[(first+1)%len(c.plan.Keys)]}}
	o.Mode, o.Permits = lockrt.Write, 0
	if c.plan.Kinds {
		for i := range keys {
			keys[i].Mode, keys[i].Permits = someKind(r)
		}
		o.MinHold = 0
	}
	asked := monotonic()
	leases, err := locks.AcquireEach(ctx, keys, o)
	if err != nil {
		c.judge(ctx, "acquire each", err)
		return
	}
	c.visits.Add(1)
	var both sync.WaitGroup
	stay := UpTo(r, 20*time.Millisecond)
	for _, key := range keys {
		both.Go(func() {
			c.observe(leases.Lease(key.Key), key.Key, lockrt.Options{Mode: key.Mode, Permits: key.Permits}, asked, stay)
		})
	}
	both.Wait()
	for _, lease := range leases {
		c.release(lease)
	}
}

func (c *process) breakOne(r *rand.Rand, locks *lockrt.Locker) {
	ctx, cancel := c.context(time.Second)
	defer cancel()
	key := c.plan.Keys[r.IntN(len(c.plan.Keys))]
	err := c.breakHolder(ctx, r, locks, key)
	if err != nil && !errors.Is(err, lockrt.ErrNotHeld) {
		c.judge(ctx, "break", err)
	}
}

// breakHolder breaks all who hold a lock, or one of them.
func (c *process) breakHolder(ctx context.Context, r *rand.Rand, locks *lockrt.Locker, key string) error {
	if r.IntN(2) == 0 {
		return locks.Break(ctx, key, "chaos")
	}
	info, err := locks.Holder(ctx, key)
	if err != nil {
		return err
	}
	holder := info.Holders[r.IntN(len(info.Holders))]
	if holder.ID == "" {
		return nil // MinHold keeps that
	}
	return locks.BreakLease(ctx, key, holder.ID, "chaos")
}

func (c *process) context(patience time.Duration) (context.Context, context.CancelFunc) {
	if patience == 0 {
		return context.WithCancel(c.ctx)
	}
	return context.WithTimeout(c.ctx, patience)
}

func (c *process) release(lease *lockrt.Lease) {
	if err := lease.Release(c.ctx); err != nil && !errors.Is(err, lockrt.ErrLost) {
		c.judge(c.ctx, "release", err)
	}
}

// judge looks for an error that must not be. Others are those of a store that is away.
func (c *process) judge(ctx context.Context, tried string, err error) {
	isCtx := errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
	end, limited := ctx.Deadline()
	isOver := ctx.Err() != nil || limited && !time.Now().Before(end) // its timer may be late
	if isCtx && !isOver {
		c.say("bad error of %s, the context lives: %q", tried, err.Error())
	}
	if errors.Is(err, lockrt.ErrNested) || errors.Is(err, lockrt.ErrClosed) || errors.Is(err, lockrt.ErrOptions) {
		c.say("bad error of %s: %q", tried, err.Error())
	}
}

// observe tells from when to when the lease's context lives, at least: the moment is taken before the context is asked,
// and one that has ended never lives again. asked is when the lease was asked for.
func (c *process) observe(lease *lockrt.Lease, key string, o lockrt.Options, asked int64, stay time.Duration) {
	if lease == nil {
		return
	}
	const tellEvery = 20 * time.Millisecond
	ctx, from := lease.Context(), monotonic()
	if ctx.Err() != nil {
		return
	}
	b := belief{
		beliefID: beliefID{number: int(c.beliefs.Add(1))}, span: span{from, from}, asked: asked,
		fence: lease.Fence(), mode: o.Mode, permits: o.Permits, slot: lease.Slot(),
	}
	told, end := int64(0), from+int64(stay)
	for {
		if b.to-told > int64(tellEvery) {
			c.say("%s", b.tell(key))
			told = b.to
		}
		now := monotonic()
		if ctx.Err() != nil {
			break
		}
		if b.to = now; b.to >= end {
			break
		}
		time.Sleep(200 * time.Microsecond)
	}
	c.say("%s", b.tell(key))
}

// UpTo returns a time below d.
func UpTo(r *rand.Rand, d time.Duration) time.Duration { return time.Duration(r.Int64N(int64(d))) }
