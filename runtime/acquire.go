package runtime

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"
)

// Acquire takes the lock on key. It blocks for one round trip to the store if the lock is free, for up to Options.Wait
// if it is not, and until ctx ends. The lease lives until it is released: do that with defer, right after the error
// check.
//
// The error wraps ErrBusy (a *BusyError) when somebody else held the lock to the end of the wait, ctx's error when ctx
// ended, ErrNested when the call chain of ctx holds the key already, ErrKey and ErrOptions for bad arguments, ErrClosed
// after Close, and else what the store's client said.
func (l *Locker) Acquire(ctx context.Context, key string, o Options) (*Lease, error) {
	lease, err := l.acquire(ctx, key, o)
	if err != nil {
		return nil, fmt.Errorf("acquire lock %q: %w", key, err)
	}
	return lease, nil
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
		return newLease(ctx, outer.grant, o, true)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := l.enter(); err != nil {
		return nil, err
	}
	defer l.leave()
	g, err := l.grant(ctx, Request{Key: key, TTL: o.TTL, Wait: o.Wait})
	if err != nil {
		return nil, err
	}
	lease, err := newLease(ctx, g, o, false)
	if err != nil {
		return nil, err
	}
	l.remember(g)
	g.start(o.MaxHold)
	if !o.NoRenew {
		_, deadline := g.state()
		l.renewer.add(g, deadline.Add(margin(o.TTL)-o.TTL))
	}
	return lease, nil
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

// grant asks the store, again if a grant arrived too late to be of use.
func (l *Locker) grant(ctx context.Context, req Request) (*grant, error) {
	began, outer, wait := time.Now(), ctx, req.Wait
	if wait > 0 {
		var cancel context.CancelFunc
		ctx, cancel = l.untilClosing(ctx)
		defer cancel()
	}
	for {
		req.ID = l.newID()
		granted, err := l.session.Acquire(ctx, req)
		if err != nil {
			if outer.Err() == nil && l.closing.Err() != nil {
				return nil, ErrClosed
			}
			return nil, err
		}
		g := newGrant(l, req, granted)
		if l.closing.Err() != nil {
			l.discard(ctx, g)
			return nil, ErrClosed
		}
		if l.fresh(ctx, g, granted.Start) {
			return g, nil
		}
		l.discard(ctx, g)
		if wait != Forever {
			req.Wait = max(wait-time.Since(began), 0)
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if req.Wait == 0 {
			return nil, fmt.Errorf("the store's grant arrived %s after it began, too late for a lease of %s; is the store or this process overloaded?",
				time.Since(granted.Start).Round(time.Millisecond), req.TTL)
		}
	}
}

// untilClosing returns ctx, ended by Close too.
func (l *Locker) untilClosing(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(l.closing, func() { cancel(ErrClosed) })
	return ctx, func() { stop(); cancel(nil) }
}

// fresh reports whether enough of the lease is left to begin with. If a tenth of it has passed (a slow answer, a late
// push) it is renewed first, so that a critical section does not start with a lease that is about to end.
func (l *Locker) fresh(ctx context.Context, g *grant, start time.Time) bool {
	if time.Since(start) <= g.ttl/10 {
		return true
	}
	sent := time.Now()
	if err := l.session.Renew(ctx, []Renewal{{Key: g.key, ID: g.id, TTL: g.ttl}})[0]; err != nil {
		return false
	}
	g.extend(sent, g.ttl)
	return time.Since(sent) <= g.ttl/2
}

// discard gives back a grant that nobody will use.
func (l *Locker) discard(ctx context.Context, g *grant) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), maxReleaseTime)
	defer cancel()
	if err := l.session.Release(ctx, Release{Key: g.key, ID: g.id}); err != nil && !errors.Is(err, ErrLost) {
		l.cfg.Logger.LogAttrs(ctx, slog.LevelWarn, "unused lock grant not released, left to its TTL",
			slog.String("key", g.key), slog.Any("error", err))
	}
}
