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
		g := newGrant(l, req, granted)
		if l.refresh(ctx, g, o.TTL) {
			return g, nil
		}
		l.giveBack(ctx, g)
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if o.Wait = left(until); o.Wait == 0 {
			return nil, fmt.Errorf("the store's grant arrived %s after it began, too late for a lease of %s; is the store or this process overloaded?",
				time.Since(granted.Start).Round(time.Millisecond), o.TTL)
		}
	}
}

// refresh reports whether enough of the lease is left to begin with. If a tenth has passed (a slow answer, a late push,
// a pass in a busy line) it is renewed first: no critical section starts with a lease that is about to end.
func (l *Locker) refresh(ctx context.Context, g *grant, ttl time.Duration) bool {
	_, deadline := g.state()
	if time.Until(deadline) >= (ttl-margin(ttl))-ttl/10 {
		return true
	}
	sent := time.Now()
	err := l.session.Renew(ctx, []Renewal{{Key: g.key, ID: g.id, TTL: ttl}})[0]
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
