package lockrt

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lockgen/lockgen/internal/timelimit"
)

// Acquire takes the lock on key. If the lock is free, it blocks for one round trip to the store; otherwise for up to
// Options.Wait. It returns within 100 ms of the end of ctx. A call that the store does not answer fails after 5 s, also
// with Options.Wait 0 and a context without an end. The lease lasts until it is released: do that with defer, right
// after the error check.
//
// The error wraps ErrBusy (a *BusyError) if the store said that somebody else holds the lock, and the wait is over. If
// ctx ended first, it wraps ctx's error and its cause, joined with the *BusyError if the holder is known. It wraps
// ErrNested if the call chain of ctx already holds the key. It wraps ErrLost if the lease was broken at the moment of
// its grant and nothing is left of the wait. It wraps ErrKey and ErrOptions for bad arguments, and ErrClosed after
// Close. Any other error is from the store's client. A store that is down is never ErrBusy.
func (l *Locker) Acquire(ctx context.Context, key string, o Options) (*Lease, error) {
	if err := l.usable(ctx); err != nil {
		return nil, fmt.Errorf("acquire lock %s: %w", quote(key), err)
	}
	end := l.telemetry.startAcquire(ctx, key)
	lease, err := l.acquire(ctx, key, o)
	if end != nil {
		l.tell(ctx, lease, func() { end(lease, err) })
	}
	if err != nil {
		return nil, fmt.Errorf("acquire lock %s: %w", quote(key), withCause(ctx, err))
	}
	return lease, nil
}

// tell runs tracers and meters of the caller's own. If they panic nobody gets the lease, so nobody could release it.
func (l *Locker) tell(ctx context.Context, lease *Lease, f func()) {
	told := false
	defer func() {
		if !told {
			lease.grant.keepNothing(lease)
			_ = lease.Release(ctx) // the panic goes on
		}
	}()
	f()
	told = true
}

// withCause adds why ctx has ended to an error that says only that it has. It may have been that of a lease which is
// lost: the caller of a nested Acquire must not take that for a cancellation of its own.
func withCause(ctx context.Context, err error) error {
	if over := ctx.Err(); over != nil && errors.Is(err, over) {
		if cause := context.Cause(ctx); !errors.Is(err, cause) {
			return errors.Join(err, cause)
		}
	}
	return err
}

// TryAcquire is Acquire without waiting, whatever Options.Wait says.
func (l *Locker) TryAcquire(ctx context.Context, key string, o Options) (*Lease, error) {
	o.Wait = 0
	return l.Acquire(ctx, key, o)
}

func (l *Locker) acquire(ctx context.Context, key string, o Options) (*Lease, error) {
	if err := errors.Join(checkKey(key), o.validate()); err != nil {
		return nil, err
	}
	if err := l.supports(o.kind()); err != nil {
		return nil, err
	}
	if o.Wait > maxWait {
		o.Wait = Forever // a moment so far ahead cannot be reckoned with
	}
	if outer := l.heldIn(ctx, key); outer != nil {
		if err := outer.sharable(o); err != nil {
			return nil, err
		}
		return outer.share(ctx, o)
	}
	// A context whose methods always panic does so here.
	_, _ = ctx.Deadline()
	_ = ctx.Done()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := l.enter(); err != nil {
		return nil, err
	}
	defer l.leave()
	acquire := l.acquireQueued
	if l.cfg.LocalHandoffs < 0 {
		acquire = l.acquireAlone
	}
	ctx, caller := onBehalf(ctx)
	lease, err := acquire(ctx, key, o)
	if caller != nil && caller.panicked.Load() != nil {
		if lease != nil {
			lease.grant.keepNothing(lease) // nothing has run under it
			_ = lease.Release(ended)       // in the background
		}
		caller.goOn()
	}
	if err != nil {
		return nil, withContext(ctx, err) // the wait and ctx may have ended together
	}
	return lease, nil
}

// ended is a context that is over.
var ended = func() context.Context {
	ctx, end := context.WithCancel(context.Background())
	end()
	return ctx
}()

// heldIn returns the live lease of ctx's call chain on key of this Locker.
func (l *Locker) heldIn(ctx context.Context, key string) *Lease {
	for lease := FromContext(ctx); lease != nil; lease = lease.outer {
		if lease.grant.locker == l && lease.grant.key == key && lease.Err() == nil {
			return lease
		}
	}
	return nil
}

// acquireAlone asks the store past the local queue.
func (l *Locker) acquireAlone(ctx context.Context, key string, o Options) (*Lease, error) {
	until := deadlineOf(o.Wait)
	for {
		g, err := l.ask(ctx, o, Request{Key: key})
		if err != nil {
			return nil, err
		}
		lease, err := l.beginOrGiveBack(ctx, g, o)
		if o.Wait = leftAfter(until, err); o.Wait == 0 || ctx.Err() != nil {
			return lease, err
		}
	}
}

// leftAfter is what is left of a wait for who asks again because a grant was lost before its lease began, 0 after any other
// outcome.
func leftAfter(until time.Time, err error) time.Duration {
	if err == nil || !errors.Is(err, ErrLost) {
		return 0
	}
	return left(until)
}

// acquireQueued lets the callers of this process come one after another.
func (l *Locker) acquireQueued(ctx context.Context, key string, o Options) (*Lease, error) {
	until, wait := deadlineOf(o.Wait), o.Wait
	for again := false; ; again = true {
		if again {
			if o.Wait = left(until); o.Wait == 0 && wait > 0 {
				return nil, l.tooLate(key, wait)
			}
		}
		position, t, held := l.queues.join(key, o.want(), o.Wait > 0)
		switch {
		case position == joined:
			if lease := l.beginReader(ctx, held, o); lease != nil {
				return lease, nil
			}
			if err := errors.Join(ctx.Err(), l.closedErr()); err != nil {
				return nil, err
			}
			continue
		case position == atWindow && held != nil && held.err() == nil && !held.sharesWith(o.kind()):
			return nil, l.busyHere(held)
		case position == atWindow:
			// The first in the queue is asking the store; the store knows who is in its way.
			return l.acquireAlone(ctx, key, o)
		case position == ahead:
			lease, err := l.lead(ctx, key, "", o)
			if leftAfter(until, err) != 0 && ctx.Err() == nil {
				continue // lost before it began
			}
			return lease, err
		}
		c, err := l.awaitTurn(ctx, key, t, o, until)
		if err != nil {
			return nil, err
		}
		if c.grant == nil && ctx.Err() != nil {
			// If many callers give up at once, none of them asks the store for the others.
			err := l.gaveUp(ctx, key)
			l.yield(key, c.place, o.kind())
			return nil, err
		}
		if c.grant == nil {
			o.Wait = max(left(until), time.Millisecond) // a place is for those who wait, and a try has seconds
			lease, err := l.lead(ctx, key, c.place, o)
			if leftAfter(until, err) != 0 && ctx.Err() == nil {
				continue
			}
			return lease, err
		}
		if c.grant.readers() != nil {
			if lease := l.beginReader(ctx, c.grant, o); lease != nil {
				return lease, nil
			}
			if err := errors.Join(ctx.Err(), l.closedErr()); err != nil {
				return nil, err
			}
			continue
		}
		if lease := l.beginPassed(ctx, c.grant, o, until); lease != nil {
			return lease, nil
		}
		if err := errors.Join(ctx.Err(), l.closedErr()); err != nil {
			return nil, err
		}
	}
}

// beginPassed makes a lease of a grant that was passed on. It is nil if that was lost on the way, or Close has begun.
func (l *Locker) beginPassed(ctx context.Context, g *grant, o Options, until time.Time) (lease *Lease) {
	defer func() {
		if lease == nil { // also after a driver's panic
			l.giveBack(ctx, g)
		}
	}()
	if l.refresh(ctx, g, o, until) {
		if made, err := l.begin(ctx, g, o); err == nil {
			return made
		}
	}
	return nil
}

// beginReader makes a lease under a grant that the caller has joined. It is nil if that has just ended: then the caller
// does without it.
func (l *Locker) beginReader(ctx context.Context, g *grant, o Options) (lease *Lease) {
	defer func() {
		if lease == nil { // also if a method of the caller's context panics
			g.readers().closed.Store(true)
			l.giveBack(ctx, g)
		}
	}()
	if g.fresh() {
		if made, err := l.begin(ctx, g, o); err == nil {
			return made
		}
	}
	return nil
}

// lead asks the store for a local queue, from the place there that was left to this caller, if any.
func (l *Locker) lead(ctx context.Context, key, place string, o Options) (*Lease, error) {
	until := deadlineOf(o.Wait)
	asked := false
	defer func() {
		if !asked {
			l.yield(key, "", o.kind()) // a driver's panic goes on
		}
	}()
	g, err := l.ask(ctx, o, l.queueRequest(key, place, o.Wait))
	asked = true
	if err != nil {
		l.stopLeading(ctx, key, err, until, o.kind())
		return nil, err
	}
	l.hold(g, o)
	return l.beginOrGiveBack(ctx, g, o)
}

// hold makes a grant that the caller asked for one of the local queue.
func (l *Locker) hold(g *grant, o Options) {
	g.queued = true
	if o.NoRenew && g.batch != nil {
		g.batch.closed.Store(true)
	}
	l.queues.hold(g)
}

// queueRequest is the request of a caller who asks for a local queue: it hears what those who wait may have to know,
// and leaves its place to them.
func (l *Locker) queueRequest(key, place string, wait time.Duration) Request {
	req := Request{Key: key, ID: place}
	if wait > 0 {
		req.Told = func(busy *BusyError, err error) { l.queues.told(key, word{busy, othersError(err), time.Now()}) }
	}
	return req
}

// stopLeading lets the next in the queue ask after err. If the store could not be asked although there was time, all in
// the queue get that error: none of them could do better, and one after another would wait for as long each.
func (l *Locker) stopLeading(ctx context.Context, key string, err error, until time.Time, k kind) {
	own := timelimit.Ended(ctx) != nil || !until.IsZero() && !time.Now().Before(until)
	for _, mine := range []error{ErrBusy, ErrLost, ErrClosed} {
		own = own || errors.Is(err, mine)
	}
	if !own {
		l.queues.fail(key, othersError(err))
		return
	}
	l.yield(key, "", k)
}

// yield lets the next in the queue ask, from the place at the store that is left, if any. A place that nobody wants is
// given up. k is the kind of the caller who asked.
func (l *Locker) yield(key, place string, k kind) {
	place = l.queues.yield(key, place, k)
	if place == "" {
		return
	}
	_, _ = l.session.Acquire(ended, Request{
		Key: key, ID: place, TTL: minTTL, Wait: Forever, Mode: k.mode, Permits: int(k.permits),
	})
}

// beginOrGiveBack makes a lease of a grant, which may fail because Close has begun.
func (l *Locker) beginOrGiveBack(ctx context.Context, g *grant, o Options) (lease *Lease, err error) {
	defer func() {
		if lease == nil { // also if a method of the caller's context panics
			l.giveBack(ctx, g)
		}
	}()
	return l.begin(ctx, g, o)
}

// awaitTurn waits in the queue. It returns the grant that was passed on, or the request to ask the store.
func (l *Locker) awaitTurn(ctx context.Context, key string, t *localWaiter, o Options, until time.Time) (call, error) {
	var budget <-chan time.Time
	if o.Wait != Forever {
		timer := time.NewTimer(time.Until(until))
		defer timer.Stop()
		budget = timer.C
	}
	var why func() error
	select {
	case c := <-t.ready:
		return c, c.err
	case <-budget:
		why = func() error { return l.waitedInVain(key, o.Wait) }
	case <-ctx.Done():
		why = func() error { return l.gaveUp(ctx, key) }
	case <-l.closing.Done():
		why = func() error { return ErrClosed }
	}
	err := why() // as long as the queue knows the key
	if !l.queues.leave(key, t) {
		// The turn came in the same moment: let the next one have it.
		switch c := <-t.ready; {
		case c.grant != nil:
			l.giveBack(ctx, c.grant)
		case c.err == nil:
			l.yield(key, c.place, o.kind())
		}
		if err == nil {
			err = l.tooLate(key, o.Wait)
		}
	}
	if err == nil { // nobody waits behind this one any more
		err = l.askWhy(key, o.Wait)
	}
	return call{}, err
}

// begin makes a lease of a grant.
func (l *Locker) begin(ctx context.Context, g *grant, o Options) (*Lease, error) {
	if err := l.closedErr(); err != nil {
		return nil, err
	}
	return g.begin(ctx, o)
}

func (l *Locker) closedErr() error {
	if l.closing.Err() != nil {
		return ErrClosed
	}
	return nil
}
