package runtime

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"
)

// ask gets a grant from the store, again if one arrived too late to be of use.
func (l *Locker) ask(ctx context.Context, key string, o Options) (*grant, error) {
	until := deadlineOf(o.Wait)
	for {
		req := Request{Key: key, ID: l.newID(), TTL: o.TTL, Wait: o.Wait}
		granted, err := l.session.Acquire(ctx, req)
		if err != nil {
			return nil, err
		}
		if err := l.checkGrant(&granted); err != nil {
			l.giveBack(ctx, newGrant(l, req, granted))
			return nil, err
		}
		g := newGrant(l, req, granted)
		if l.refresh(ctx, g, o.TTL) {
			return g, nil
		}
		l.giveBack(ctx, g)
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if o.Wait = left(until); o.Wait == 0 {
			return nil, fmt.Errorf("the store's grant arrived %s after it began, too late for a lease of %s; is the store or "+
				"this process overloaded?",
				time.Since(granted.Start).Round(time.Millisecond), o.TTL)
		}
	}
}

// checkGrant keeps what a driver must not say from becoming a lease without a fence, or one that never ends.
func (l *Locker) checkGrant(g *Grant) error {
	if g.Epoch == 0 || g.Epoch >= 1<<maxEpochBits {
		return fmt.Errorf("the store %T granted epoch %d, and only 1 to 2^%d-1 make a fence: its driver is broken",
			l.store, g.Epoch, maxEpochBits)
	}
	if now := time.Now(); g.Start.After(now) {
		g.Start = now
	}
	return nil
}

// refresh reports whether enough of the lease is left to begin with. If a tenth has passed (a slow answer, a late push,
// a pass in a busy line) it is renewed first: no critical section starts with a lease that is about to end.
func (l *Locker) refresh(ctx context.Context, g *grant, ttl time.Duration) bool {
	_, deadline := g.state()
	if time.Until(deadline) >= (ttl-margin(ttl))-ttl/10 {
		return true
	}
	sent := time.Now()
	err := renewEach(ctx, l.session, []Renewal{{Key: g.key, ID: g.id, TTL: ttl}})[0]
	// A renewal proves nothing about a lease that was over before its answer: the store may have given the lock to others
	// in between and to this id again, with a higher epoch than we know.
	if err != nil || !time.Now().Before(deadline) {
		return false
	}
	g.extend(sent, ttl)
	return time.Since(sent) <= ttl/2
}

// giveBack passes on a grant that nobody here will use, or releases it.
func (l *Locker) giveBack(ctx context.Context, g *grant) {
	if g.passOn(nil) {
		return
	}
	g.end(nil, ErrNotHeld)
	defer l.forget(g)
	ctx, cancel := l.bounds.context(ctx, maxReleaseTime)
	defer cancel()
	if err := l.session.Release(ctx, Release{Key: g.key, ID: g.id}); err != nil && !errors.Is(err, ErrLost) {
		l.cfg.Logger.LogAttrs(ctx, slog.LevelWarn, "unused lock grant not released, left to its TTL",
			slog.String("key", g.key), slog.Any("error", err))
	}
	l.lines.vacate(g.key, g)
}

// deadlineOf is the end of a wait that begins now; the zero time for Forever.
func deadlineOf(wait time.Duration) time.Time {
	if wait == Forever {
		return time.Time{}
	}
	return time.Now().Add(wait)
}

func left(until time.Time) time.Duration {
	if until.IsZero() {
		return Forever
	}
	return max(time.Until(until), 0)
}
