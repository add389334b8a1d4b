package lockrt

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lockgen/lockgen/internal/timelimit"
)

// minReleaseTime is how long a release may take at the least. Past the lease's own end the store frees the lock by itself.
const minReleaseTime = 200 * time.Millisecond

// Release ends the lease and cancels its context, then gives the lock to the next waiter. It blocks until the store
// answers, for at most 5 s, and returns within 100 ms of the end of ctx. The release then goes on in the background. It
// is also done if ctx has ended before the call. A Release beside one that is under way waits for that one, and begins
// anew if the other's ctx ends, within its own 5 s.
//
// It returns nil if the lock was released by this or an earlier call. It returns an error that wraps ErrLost if the
// lease had been lost before; a later holder is not affected. After any other error the lock is free after its TTL at
// the latest, or its MinHold, and Release may be called again.
func (le *Lease) Release(ctx context.Context) error {
	ctx, caller := onBehalf(ctx)
	defer caller.goOn()
	failed, lost := le.conclude(ctx)
	if lost != nil {
		return errors.Join(failed, lost)
	}
	return failed
}

// conclude is Release. It tells what went wrong at the store from what was lost before.
func (le *Lease) conclude(ctx context.Context) (failed, lost error) {
	failed = le.release(ctx)
	return failed, le.lost()
}

// lost is why the lease was lost, nil if it was not.
func (le *Lease) lost() error {
	if over := le.Err(); errors.Is(over, ErrLost) {
		return over
	}
	return nil
}

// releaseCall is what others wait for that want to release while a release is under way. They have its result.
type releaseCall struct {
	done chan struct{} // closed at its end
	err  error         // set before
}

// release returns only what went wrong at the store. What another caller has given up is begun anew.
func (le *Lease) release(ctx context.Context) error {
	if le.none() {
		return nil
	}
	if ctx == nil {
		ctx = context.Background()
	}
	began, left := time.Now(), callTime
	for {
		own, err := le.releaseAs(ctx, left, false)
		if own || !errors.Is(err, errGivenUp) || timelimit.Ended(ctx) != nil {
			return err
		}
		if left = callTime - time.Since(began); left < graceTime {
			return err
		}
	}
}

// releaseAtLast is release for Close. What another caller does in vain is begun anew, before others may begin one.
func (le *Lease) releaseAtLast(ctx context.Context) error {
	le.mu.Lock()
	le.reserved = true
	le.mu.Unlock()
	own, err := false, errReleasePanicked
	defer func() { le.unreserve(err) }()
	for {
		own, err = le.releaseAs(ctx, callTime, true)
		if own || err == nil || timelimit.Ended(ctx) != nil {
			return err
		}
	}
}

// unreserve lets others begin a release again. Who has waited for Close to do so hears what came of it.
func (le *Lease) unreserve(err error) {
	le.mu.Lock()
	defer le.mu.Unlock()
	le.reserved = false
	if others := le.awaited; others != nil && !le.releasing {
		le.awaited, others.err = nil, err
		close(others.done)
	}
}

// releaseAs takes as long as left, and reports whether the release was this call's own.
func (le *Lease) releaseAs(ctx context.Context, left time.Duration, last bool) (own bool, err error) {
	switch other := le.beginRelease(last); other {
	case nil:
		return true, le.releaseNow(ctx, left)
	case releaseOver:
		return false, nil
	default:
		return false, le.awaitRelease(ctx, left, other)
	}
}

// releaseOver stands for a release that is over.
var releaseOver = new(releaseCall)

// beginRelease returns the release that is under way, or about to be, or nil: then the caller has to do it.
func (le *Lease) beginRelease(last bool) *releaseCall {
	le.mu.Lock()
	defer le.mu.Unlock()
	switch {
	case le.released:
		return releaseOver
	case !le.releasing && (last || !le.reserved):
		le.releasing = true
		return nil
	case le.awaited == nil:
		le.awaited = &releaseCall{done: make(chan struct{})}
	}
	return le.awaited
}

func (le *Lease) releaseNow(ctx context.Context, left time.Duration) (err error) {
	ended := false
	defer func() {
		le.mu.Lock()
		others := le.awaited
		le.releasing, le.awaited, le.released = false, nil, ended && err == nil
		le.mu.Unlock()
		if others == nil {
			return
		}
		if others.err = err; !ended {
			others.err = errReleasePanicked
		}
		close(others.done)
	}()
	err = le.releaseOrPass(ctx, left)
	ended = true
	return err
}

var (
	errReleasePanicked = errors.New("the store panicked when another caller released the lock")
	errNotKept         = errors.New("MinHold does not keep it: its lease had ended at the store before; a longer TTL leaves time for the release")
	errGivenUp         = errors.New("another caller has given up its release of the lock, which goes on in the background; Release may be called again")

	errOthersSilent error = silentError("the store did not answer the release of another caller within " + callTime.String())
)

// awaitRelease waits for the release of another caller. The end of that one's context is not ours.
func (le *Lease) awaitRelease(ctx context.Context, left time.Duration, other *releaseCall) error {
	result := func() error {
		if errors.Is(other.err, context.Canceled) || errors.Is(other.err, context.DeadlineExceeded) {
			return withContext(ctx, fmt.Errorf("release lock %s: %w", quote(le.grant.key), errGivenUp))
		}
		return other.err
	}
	limit := time.NewTimer(left)
	defer limit.Stop()
	select {
	case <-other.done:
		return result()
	case <-limit.C:
		return fmt.Errorf("release lock %s: %w (it goes on in the background)", quote(le.grant.key), errOthersSilent)
	case <-ctx.Done():
	}
	grace := time.NewTimer(graceTime)
	defer grace.Stop()
	select {
	case <-other.done:
		return result()
	case <-grace.C:
		return fmt.Errorf("release lock %s: %w (it goes on in the background)", quote(le.grant.key), ctx.Err())
	}
}

// releaseOrPass ends the lease's turn under its grant, and the grant if nobody here goes on with it.
func (le *Lease) releaseOrPass(ctx context.Context, left time.Duration) error {
	g := le.grant
	switch keep, readers := g.keep(le); {
	case le.owner != nil:
		g.leave(le, ErrNotHeld)
		return nil
	case readers:
		return le.releaseReader(ctx, left)
	case keep == 0 && g.passOn(le):
		return nil
	default:
		over, ended := g.endTurn(le, ErrNotHeld)
		defer g.locker.telemetry.ended(over)
		if !ended && g.ended() == nil {
			return le.releaseReader(ctx, left) // a Downgrade came in between
		}
		return le.releaseToStore(ctx, left, keep)
	}
}

// releaseReader ends a lease of a batch, and the grant if it was the last.
func (le *Lease) releaseReader(ctx context.Context, left time.Duration) (err error) {
	g := le.grant
	over, _, last := g.leaveBatch(le, ErrNotHeld)
	defer g.locker.telemetry.ended(over)
	open := g.locker.beginReturn() // Close may see the others alone, and waits for this one
	if open {
		defer g.locker.returning.Done()
	}
	if !g.returns(last) {
		return nil // others go on with it, or have given it back
	}
	done := false
	defer func() {
		if err != nil || !done {
			g.notReturned()
		}
	}()
	if open {
		g.end(nil, ErrNotHeld)
		err = le.giveBack(ctx, left, 0)
	} else {
		err = le.refused()
	}
	done = true
	return err
}

func (le *Lease) releaseToStore(ctx context.Context, left, keep time.Duration) error {
	l := le.grant.locker
	if !l.beginReturn() {
		return le.refused()
	}
	defer l.returning.Done()
	return le.giveBack(ctx, left, keep)
}

// refused is the result of a release that begins when Close has waited for the last: nil if there is nothing to release.
func (le *Lease) refused() error {
	if le.isGone() {
		return nil
	}
	return fmt.Errorf("release lock %s: %w; it is free after its TTL. Release leases before Close returns",
		quote(le.grant.key), ErrClosed)
}

// isGone reports whether the store knows nothing of the lease any more, or will not in a moment.
func (le *Lease) isGone() bool {
	over := le.Err()
	return le.grant.gone.Load() || errors.Is(over, errNotMine) || errors.Is(over, ErrLost) && !time.Now().Before(le.grant.storeEnd())
}

// giveBack ends a grant at the store that has ended here. The store has as long as left to answer.
func (le *Lease) giveBack(ctx context.Context, left, keep time.Duration) error {
	g := le.grant
	l := g.locker
	gone := false
	defer func() { l.settle(g, gone) }()
	if le.isGone() && (keep == 0 || errors.Is(le.Err(), errNotMine)) {
		gone = true
		return nil
	}
	if g.ended() != ErrNotHeld { // it was lost, and may be forgotten
		l.recall(g)
	}
	limit, began := left, time.Now()
	if keep == 0 { // else the store would not know that the lock is to be kept
		limit = min(max(g.storeEnd().Sub(began), minReleaseTime), left) // it does not move after the end
	}
	callCtx, cancel := l.bounds.context(ctx, limit)
	defer cancel()
	unsure := g.unsure.Swap(true)
	defer l.queues.vacate(g) // also after a driver's panic
	err := l.session.Release(callCtx, g.release(keep))
	l.hears(callCtx, began, err)
	gone = err == nil || errors.Is(err, ErrLost)
	if err == nil {
		g.freed.Store(true)
	}
	switch {
	case errors.Is(err, ErrLost) && unsure && keep > 0 && time.Now().Before(g.storeEnd()):
		g.freed.Store(true) // by the one before: it has not run out
		return nil
	case errors.Is(err, ErrLost) && unsure && keep > 0:
		return fmt.Errorf("release lock %s: it is not known whether MinHold keeps it: an earlier release had no answer", quote(g.key))
	case errors.Is(err, ErrLost) && unsure: // by the one before
		return nil
	case errors.Is(err, ErrLost):
		g.unsure.Store(false) // this is the answer
		le.foundLost(&lostError{key: g.key, reason: errNotMine})
		if keep > 0 {
			return fmt.Errorf("release lock %s: %w", quote(g.key), errNotKept)
		}
		return nil
	case err != nil && timelimit.Ended(ctx) != nil:
		return fmt.Errorf("release lock %s: %w (it goes on in the background)", quote(g.key), unfinished(ctx, err, limit))
	case err != nil:
		return fmt.Errorf("release lock %s: %w", quote(g.key), unanswered(err, limit))
	}
	return nil
}

// foundLost corrects the end of a lease whose release the store refused: it was lost before, unnoticed.
func (le *Lease) foundLost(lost *lostError) {
	g := le.grant
	g.mu.Lock()
	if errors.Is(g.over, ErrLost) {
		g.mu.Unlock()
		return // it was known to be lost, though not why
	}
	g.over = lost
	g.mu.Unlock()
	le.mu.Lock()
	le.over = lost
	le.mu.Unlock()
	g.locker.leaseLost(g, lost.reason)
}
