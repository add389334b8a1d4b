package runtime

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Acquire takes the lock on key. It blocks for one round trip to the store if the lock is free, for up to Options.Wait
// if it is not, and until ctx ends. The lease lives until it is released: do that with defer, right after the error
// check.
//
// The error wraps ErrBusy (a *BusyError) when somebody else held the lock to the end of the wait, ctx's error and its
// cause when ctx ended, ErrNested when the call chain of ctx holds the key already, ErrKey and ErrOptions for bad
// arguments, ErrClosed after Close, and else what the store's client said.
func (l *Locker) Acquire(ctx context.Context, key string, o Options) (*Lease, error) {
	end := l.telemetry.startAcquire(ctx, key)
	lease, err := l.acquire(ctx, key, o)
	if end != nil {
		end(lease, err)
	}
	if err != nil {
		return nil, fmt.Errorf("acquire lock %q: %w", key, withCause(ctx, err))
	}
	return lease, nil
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
	if outer := l.heldIn(ctx, key); outer != nil {
		if !o.Reentrant {
			return nil, fmt.Errorf("%w (fence %d); set Reentrant to share that lease", ErrNested, outer.fence)
		}
		return outer.share(ctx, o)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := l.enter(); err != nil {
		return nil, err
	}
	defer l.leave()
	if l.cfg.LocalHandoffs < 0 {
		return l.acquireAlone(ctx, key, o)
	}
	return l.acquireInLine(ctx, key, o)
}

// heldIn returns the live lease of ctx's call chain on key of this Locker.
func (l *Locker) heldIn(ctx context.Context, key string) *Lease {
	for lease := FromContext(ctx); lease != nil; lease = lease.outer {
		if lease.grant.locker == l && lease.grant.key == key && lease.Err() == nil {
			return lease
		}
	}
	return nil
}

// acquireAlone asks the store past the local line.
func (l *Locker) acquireAlone(ctx context.Context, key string, o Options) (*Lease, error) {
	g, err := l.ask(ctx, key, o)
	if err != nil {
		return nil, err
	}
	return l.beginOrGiveBack(ctx, g, o)
}

// acquireInLine lets the callers of this process come one after another.
func (l *Locker) acquireInLine(ctx context.Context, key string, o Options) (*Lease, error) {
	until := deadlineOf(o.Wait)
	for {
		place, t, held := l.lines.join(key, o.TTL, o.Wait > 0)
		switch {
		case place == atWindow && held != nil:
			return nil, l.busyHere(held)
		case place == atWindow:
			// The first in line is asking the store; the store knows who is in its way.
			return l.acquireAlone(ctx, key, o)
		case place == atHead:
			return l.lead(ctx, key, o)
		}
		g, err := l.awaitTurn(ctx, key, t, o, until)
		if err != nil {
			return nil, err
		}
		if o.Wait = left(until); g == nil {
			return l.lead(ctx, key, o)
		}
		if l.refresh(ctx, g, o.TTL) {
			if lease, err := l.begin(ctx, g, o); err == nil {
				return lease, nil
			}
		}
		// The lease that was passed on was lost on the way, or Close has begun.
		l.giveBack(ctx, g)
		if err := errors.Join(ctx.Err(), l.closedErr()); err != nil {
			return nil, err
		}
	}
}

// lead asks the store for the head of a line.
func (l *Locker) lead(ctx context.Context, key string, o Options) (*Lease, error) {
	g, err := l.ask(ctx, key, o)
	if err != nil {
		l.lines.vacate(key, nil)
		return nil, err
	}
	g.inLine = true
	l.lines.hold(g)
	return l.beginOrGiveBack(ctx, g, o)
}

// beginOrGiveBack makes a lease of a grant, which may fail because Close has begun.
func (l *Locker) beginOrGiveBack(ctx context.Context, g *grant, o Options) (*Lease, error) {
	lease, err := l.begin(ctx, g, o)
	if err != nil {
		l.giveBack(ctx, g)
	}
	return lease, err
}

// awaitTurn waits in line. It returns the grant that was passed on, or nil when the caller is the one to ask the store.
func (l *Locker) awaitTurn(ctx context.Context, key string, t *turn, o Options, until time.Time) (*grant, error) {
	var budget <-chan time.Time
	if o.Wait != Forever {
		timer := time.NewTimer(time.Until(until))
		defer timer.Stop()
		budget = timer.C
	}
	var err error
	select {
	case g := <-t.ready:
		return g, nil
	case <-budget:
		err = l.busy(ctx, key)
	case <-ctx.Done():
		err = ctx.Err()
		if held := l.lines.heldBy(key); held != nil {
			err = errors.Join(err, l.busyHere(held))
		} else {
			err = errors.Join(err, &BusyError{Key: key})
		}
	case <-l.closing.Done():
		err = ErrClosed
	}
	if !l.lines.leave(key, t) {
		// The turn came in the same moment: let the next one have it.
		if g := <-t.ready; g != nil {
			l.giveBack(ctx, g)
		} else {
			l.lines.vacate(key, nil)
		}
	}
	return nil, err
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
