package lockrt

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/lockgen/lockgen/internal/pace"
	"github.com/lockgen/lockgen/internal/timelimit"
)

// ask gets a grant from the store, again if one arrived too late to be of use or was broken on its way. The request
// says what is special about it; ask adds the rest.
func (l *Locker) ask(ctx context.Context, o Options, req Request) (*grant, error) {
	sent := time.Now()
	until, bound := deadlineFrom(sent, o.Wait), time.Time{}
	if o.Wait != 0 {
		bound = until
	}
	queued := req.Told != nil
	var again time.Duration // before the next try
	for ; ; req.ID = "" {
		if req.ID == "" {
			req.ID = l.newID()
		}
		req.TTL, req.Wait, req.Mode, req.Permits = o.TTL, o.Wait, o.Mode, o.Permits
		if queued {
			key, id, k := req.Key, req.ID, o.kind() // so that the request itself stays on the stack
			req.Keep = func() bool { return l.queues.stays(key, id, k) }
		}
		granted, err := l.session.Acquire(ctx, req)
		if err == nil {
			var g *grant
			if g, err = l.accept(ctx, req, granted, o, sent, bound); err == nil {
				return g, nil
			}
		}
		o.Wait = left(until)
		gone := errors.Is(err, errTooLate) || errors.Is(err, ErrLost)
		if closed := l.closedErr(); closed != nil && gone {
			return nil, closed
		}
		if !gone || o.Wait == 0 || timelimit.Ended(ctx) != nil {
			return nil, withContext(ctx, err)
		}
		// The first is tried at once. A store that goes on like that is not to be asked without a pause.
		pace.Sleep(ctx, min(again, o.Wait))
		again = pace.Backoff(again, minBackoff, maxBackoff)
		o.Wait, sent = left(until), time.Now()
	}
}

// withContext adds ctx's error to one that came of its end, or at the same time.
func withContext(ctx context.Context, err error) error {
	if over := timelimit.Ended(ctx); over != nil && !errors.Is(err, over) {
		return errors.Join(over, err)
	}
	return err
}

// accept makes the store's grant one that a lease can begin with, before until if that is set. If it cannot, the grant is
// given back.
func (l *Locker) accept(
	ctx context.Context, req Request, granted Grant, o Options, sent, until time.Time,
) (*grant, error) {
	l.hears(ctx, granted.Start, nil)
	heard := time.Now()
	err := l.checkGrant(&granted, heard)
	g := newGrant(l, req, granted, sent, heard)
	accepted := false
	defer func() {
		if accepted {
			return
		}
		within := giveBackTime // also after a driver's panic
		if !until.IsZero() {   // the answer may have come a moment behind that
			within = min(within, max(time.Until(until)+giveBackTime, 0))
		}
		l.giveBackWithin(ctx, g, within)
	}()
	if err == nil {
		err = l.remember(g)
	}
	if err == nil && !l.refresh(ctx, g, o, until) {
		err = fmt.Errorf("%w: the store's grant arrived %s after it began, with a lease of %s; is the store or this process "+
			"overloaded?", errTooLate, time.Since(granted.Start).Round(time.Millisecond), o.TTL)
	}
	if err != nil {
		return nil, err
	}
	accepted = true
	return g, nil
}

const minBackoff, maxBackoff = time.Millisecond, 100 * time.Millisecond

var errTooLate = errors.New("nothing is left of the lease")

// checkGrant keeps what a driver must not say from becoming a lease without a fence, or one that never ends.
func (l *Locker) checkGrant(g *Grant, now time.Time) error {
	if g.Epoch == 0 || g.Epoch >= 1<<maxEpochBits {
		return fmt.Errorf("the store %T granted epoch %d, and only 1 to 2^%d-1 make a fence: its driver is broken",
			l.store, g.Epoch, maxEpochBits)
	}
	if g.Start.After(now) {
		g.Start = now
	}
	return nil
}

// refresh reports whether enough of the lease is left to begin with. If a tenth has passed (a slow answer, a late push,
// a pass in a busy queue), or if the store gave less than was asked and nobody will renew it, it is renewed first: no
// critical section starts with a lease that is about to end. It takes no longer than the lease has, and than until.
func (l *Locker) refresh(ctx context.Context, g *grant, o Options, until time.Time) bool {
	ttl := g.capped(o.TTL)
	given, deadline := g.given()
	if time.Until(deadline) >= given-margin(given)-given/10 && !(o.NoRenew && given < ttl) {
		return true
	}
	sent, limit := time.Now(), max(time.Until(deadline), 0)
	if !until.IsZero() {
		limit = min(limit, max(time.Until(until), 0))
	}
	bounded, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	renewal := g.renewalOf(sent, ttl)
	defer g.answered(ttl)
	err := renewEach(bounded, l.session, []Renewal{renewal})[0]
	if errors.Is(err, ErrLost) {
		g.gone.Store(true)
		g.end(nil, &lostError{key: g.key, reason: errNotMine}) // so that nobody here goes on with it
	}
	// A renewal proves nothing about a lease that was over before its answer: the store may have given the lock to
	// others in between and to this id again, with a higher epoch than we know.
	if err != nil || !time.Now().Before(deadline) {
		return false
	}
	g.extend(sent, ttl)
	return time.Since(sent) <= ttl/2
}

// fresh reports whether enough is left of a batch for another reader. It is renewed at a third of its TTL, so less than
// half is left only if the store does not answer.
func (g *grant) fresh() bool {
	gave, deadline := g.given()
	return time.Until(deadline) >= gave/2
}

// giveBackTime is how long a caller without a lease waits for the release of what it had, while its context lives. It goes on
// in the background.
const giveBackTime = 80 * time.Millisecond

// giveBack passes on a grant that nobody here will use, or releases it.
func (l *Locker) giveBack(ctx context.Context, g *grant) { l.giveBackWithin(ctx, g, giveBackTime) }

// giveBackWithin is giveBack for a caller who waits for no longer than limit.
func (l *Locker) giveBackWithin(ctx context.Context, g *grant, limit time.Duration) {
	if b := g.readers(); b != nil && !b.leave() || b == nil && g.passOn(nil) {
		return
	}
	g.end(nil, ErrNotHeld)
	if g.readers() != nil && !g.returns(true) {
		return // a member that had ended before has given it back
	}
	l.recall(g)
	var back sync.WaitGroup
	if l.closing.Err() == nil || !l.beginReturn() {
		if timelimit.Ended(ctx) == nil {
			l.releaseUnused(ctx, g, limit)
			return
		}
		l.acquiring.Add(1) // the caller has entered, and leaves without waiting for this
		back.Go(func() {
			defer l.leave()
			l.releaseGuarded(context.WithoutCancel(ctx), g, giveBackTime)
		})
	} else {
		back.Go(func() { // Close waits for it, and the caller does not
			defer l.returning.Done()
			limit := min(max(time.Until(g.storeEnd()), minReleaseTime), callTime)
			l.releaseGuarded(context.WithoutCancel(ctx), g, limit)
		})
	}
	awaitAlive(ctx, limit, &back)
}

// lateTime is how long the end of a call waits behind the end of its context for what a store that is there has done by
// then.
const lateTime = 10 * time.Millisecond

// releaseUnused releases a grant that nobody uses, within a limit.
func (l *Locker) releaseUnused(ctx context.Context, g *grant, limit time.Duration) {
	over := false
	defer func() { // also after a driver's panic
		l.settle(g, over)
		l.queues.vacate(g)
	}()
	ctx, cancel := l.bounds.context(ctx, limit)
	defer cancel()
	began := time.Now()
	g.unsure.Store(true)
	err := l.session.Release(ctx, g.release(0))
	l.hears(ctx, began, err)
	if over = err == nil || errors.Is(err, ErrLost); !over {
		l.cfg.Logger.LogAttrs(ctx, slog.LevelWarn, "unused lock grant not released yet, at worst left to its TTL",
			slog.String("key", g.key), slog.Any("error", err))
	}
	if !over && g.readers() != nil {
		g.notReturned()
	}
}

// deadlineOf is the end of a wait that begins now; the zero time for Forever.
func deadlineOf(wait time.Duration) time.Time { return deadlineFrom(time.Now(), wait) }

func deadlineFrom(began time.Time, wait time.Duration) time.Time {
	if wait == Forever {
		return time.Time{}
	}
	return began.Add(wait)
}

func left(until time.Time) time.Duration {
	if until.IsZero() {
		return Forever
	}
	return max(time.Until(until), 0)
}
