package lockrt

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Lease is the right to work under a lock until it is released or lost. All methods may be called concurrently. A nil
// *Lease and a zero one behave like a lease that was released.
type Lease struct {
	grant    *grant
	fence    atomic.Uint64 // a Fence; only Downgrade changes it
	ctx      leaseContext
	cancel   context.CancelCauseFunc
	outer    *Lease // the lease of the enclosing call, on whatever key
	owner    *Lease // the lease whose grant it shares (Options.Reentrant); nil for one of its own
	since    time.Time
	limit    limit         // when a MaxHold ends it, its own or that of the lease it shares
	inParts  bool          // limit is the end of a TTL that the store gives in parts, of its owner's if it shares one
	latest   time.Time     // up to which Extend moves it then, the end of its own MaxHold; zero: there is none
	minHold  time.Duration // guarded by the grant's mutex: one that has shared the lease may have made it longer
	extended time.Duration // by Extend, at the most; guarded by the grant's mutex
	maxTimer *time.Timer   // nil without MaxHold; set under the grant's mutex, without which it does nothing

	mu        sync.Mutex    // guards what follows
	over      error         // nil while the lease lives
	done      chan struct{} // nil: nobody has asked for it
	told      bool          // done is closed: the context has ended before
	awaited   *releaseCall  // nil: nobody else waits for it
	releasing bool          // a release is under way
	reserved  bool          // Close is about to begin one, and nobody else may
	released  bool          // the store or the next caller has it

	noRenew bool  // Options.NoRenew
	index   int32 // among the members of its batch, guarded by the grant's mutex
}

// newLease makes the lease and its context. It is live when its grant says so.
func newLease(ctx context.Context, g *grant, o Options) *Lease {
	lease := &Lease{grant: g, outer: FromContext(ctx), since: time.Now(), minHold: o.MinHold, noRenew: o.NoRenew}
	if o.MaxHold > 0 {
		lease.limit.set(lease.since.Add(o.MaxHold))
	}
	lease.ctx.Context, lease.cancel = context.WithCancelCause(callerOf(ctx))
	lease.ctx.lease = lease
	return lease
}

// share makes a lease that lives within le, with the same fence, so that an inner write does not fence out an outer.
func (le *Lease) share(ctx context.Context, o Options) (*Lease, error) {
	lease := newLease(ctx, le.grant, o)
	lease.owner = le
	lease.fence.Store(le.fence.Load())
	if le.owner != nil {
		lease.owner = le.owner
	}
	lease.latest = lease.limit.at()
	lease.limit.set(earlier(lease.latest, lease.owner.limit.at()))
	lease.inParts = lease.owner.inParts
	if err := le.grant.share(lease.owner, lease, o); err != nil {
		lease.cancel(err)
		return nil, err
	}
	return lease, nil
}

// earlier returns the first of two moments; the zero time is none.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// reachMaxHold runs when MaxHold has passed. The grant may have passed on to somebody else in the same moment. A lease
// that shares the grant ends alone: the one that it shares still has its own time.
func (le *Lease) reachMaxHold() {
	if !le.limit.passed() {
		return // an Extend has moved it in this moment
	}
	g := le.grant
	lost := &lostError{key: g.key, reason: errMaxHold}
	switch {
	case le.owner != nil:
		g.leave(le, lost)
	case g.readers() == nil:
		g.loseTurn(le, errMaxHold)
	default:
		defer g.locker.tells.begin()()
		over, lived, last := g.leaveBatch(le, lost)
		switch {
		case last:
			g.hasEnded()
			g.locker.leaseLost(g, errMaxHold)
		case lived:
			g.locker.reportLost(g, 1, errMaxHold)
		}
		g.locker.telemetry.ended(over)
	}
}

var errMaxHold = errors.New("it was held for its MaxHold, or for its TTL with NoRenew")

// finish ends the lease; its context is cancelled with the reason as its cause. It reports whether it was the first to do
// so, and then telemetry has to hear of it.
func (le *Lease) finish(why error) (first bool) {
	le.mu.Lock()
	first = le.over == nil
	if first {
		le.over = why
	}
	le.mu.Unlock()
	if le.maxTimer != nil {
		le.maxTimer.Stop()
	}
	le.cancel(why)
	if !first {
		return false
	}
	le.mu.Lock()
	le.told = true
	if le.done != nil {
		close(le.done)
	}
	le.mu.Unlock()
	return true
}

// none reports whether le is no lease of any lock.
func (le *Lease) none() bool { return le == nil || le.grant == nil }

// Key returns the locked key, without the namespace.
func (le *Lease) Key() string {
	if le.none() {
		return ""
	}
	return le.grant.key
}

// Locker returns the Locker that gave the lease, nil for a nil or zero lease. It is for packages that build on a store,
// such as sqlstore.
func (le *Lease) Locker() *Locker {
	if le.none() {
		return nil
	}
	return le.grant.locker
}

// Fence returns the fencing token, 0 for a nil lease. It does not change while the lease lives, unless Downgrade says
// so.
func (le *Lease) Fence() Fence {
	if le.none() {
		return 0
	}
	return Fence(le.fence.Load())
}

// Downgrade lets a lease that writes go on as one that reads, without a moment in between: no writer gets the lock
// before the lease has ended, and other readers may join it. The fence stays, unless the lease was handed on in this
// process since the store granted it: then it grows. It blocks until the store answers or ctx ends. It may be repeated.
//
// The error wraps ErrLost or ErrNotHeld if the lease is over, and errors.ErrUnsupported if the store has no readers. It
// wraps ErrOptions for a lease of a permit or with a MinHold, and ErrNested for one that shares that of an outer call
// or is shared by an inner one. After any other error the lease may be one or the other, so count on reading alone and
// call Downgrade again, or release it.
func (le *Lease) Downgrade(ctx context.Context) error {
	ctx, caller := onBehalf(ctx)
	defer caller.goOn()
	if err := le.Err(); err != nil {
		return err
	}
	g := le.grant
	if _, ok := g.locker.session.(Downgrader); !ok {
		return fmt.Errorf("downgrade lease on %s: the store %T: %w",
			quote(g.key), g.locker.store, errors.ErrUnsupported)
	}
	return g.downgrade(ctx, le)
}

// Slot returns the number of the permit, from 0 to Options.Permits-1: the lowest that was free. Two leases that are
// held at the same time never have the same. It is -1 without permits, and for a nil lease.
func (le *Lease) Slot() int {
	if le.none() || le.grant.heldKind().permits == 0 {
		return -1
	}
	return int(le.grant.slot)
}

// Deadline returns the time at which the lease ends if it is not renewed. Every renewal moves it, up to the end of
// Options.MaxHold.
func (le *Lease) Deadline() time.Time {
	if le.none() {
		return time.Time{}
	}
	_, deadline := le.grant.state()
	return earlier(deadline, le.limit.at())
}

// Context returns the context for the work under the lock. It carries the lease (see [FromContext]). It ends with the
// context that was given to Acquire. It is cancelled with a cause that wraps ErrLost before anybody else can hold the
// lock, and with ErrNotHeld at the release.
func (le *Lease) Context() context.Context {
	if le.none() {
		return context.Background()
	}
	return &le.ctx
}

var closedChan = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

// Done returns a channel that is closed when the lease is lost or released. Unlike Context().Done() it does not close
// when the caller's context ends: the lock is held until it is released.
func (le *Lease) Done() <-chan struct{} {
	if le.none() {
		return closedChan
	}
	le.mu.Lock()
	defer le.mu.Unlock()
	if le.told {
		return closedChan
	}
	if le.done == nil {
		le.done = make(chan struct{})
	}
	return le.done
}

// Err returns nil while the lease is held, an error that wraps ErrLost when it was lost, and ErrNotHeld after it was
// released. It does not ask the store; see [Lease.Check].
func (le *Lease) Err() error {
	if le.none() {
		return ErrNotHeld
	}
	if over := le.ended(); over != nil {
		return over
	}
	_ = le.grant.err() // a passed deadline ends the lease now, not when its timer gets to run
	if le.limit.passed() {
		le.reachMaxHold()
	}
	return le.ended()
}

// ended is nil while the lease has not been ended, whatever the clock says.
func (le *Lease) ended() error {
	le.mu.Lock()
	defer le.mu.Unlock()
	return le.over
}

// Check asks the store whether this lease still holds the lock. It blocks until the store answers or ctx ends. nil
// means yes. An error that wraps ErrLost or ErrNotHeld means no. Every other error means that the store did not answer.
func (le *Lease) Check(ctx context.Context) error {
	ctx, caller := onBehalf(ctx)
	defer caller.goOn()
	if err := le.Err(); err != nil {
		return err
	}
	g := le.grant
	switch err := g.locker.checkHeld(ctx, g.heldLease()); {
	case errors.Is(err, ErrLost):
		g.lose(errNotMine)
	case err != nil:
		return fmt.Errorf("check lease on %s: %w", quote(g.key), err)
	}
	return le.Err()
}

// checkHeld asks the store about one lease: nil, ErrLost, or why it could not be asked.
func (l *Locker) checkHeld(ctx context.Context, lease HeldLease) error {
	if err := l.lookable(ctx); err != nil {
		return err
	}
	if checker, ok := l.session.(Checker); ok {
		if errs := checker.Check(ctx, []HeldLease{lease}); len(errs) == 1 {
			return errs[0]
		}
		return errNoResult
	}
	info, err := l.Holder(ctx, lease.Key)
	named := func(h Holder) bool { return h.ID == lease.ID }
	if errors.Is(err, ErrNotHeld) || err == nil && !slices.ContainsFunc(info.Holders, named) {
		return ErrLost
	}
	return err
}

// Extend makes the lease last at least d from now. If d is longer than the TTL, all further renewals use d, until the lease
// ends. It never shortens a lease. It asks for no more of d than Options.MaxHold leaves. It blocks until the store answers or ctx
// ends.
func (le *Lease) Extend(ctx context.Context, d time.Duration) error {
	ctx, caller := onBehalf(ctx)
	defer caller.goOn()
	if err := le.Err(); err != nil {
		return err
	}
	if d < minTTL || d > maxTTL {
		return fmt.Errorf("%w: extend lease on %s by %s; it must be between %s and %s",
			ErrOptions, quote(le.grant.key), d, minTTL, maxTTL)
	}
	g := le.grant
	if err := g.locker.lookable(ctx); err != nil {
		return fmt.Errorf("extend lease on %s: %w", quote(g.key), err)
	}
	sent := time.Now()
	limit := le.limit.at()
	if le.inParts {
		limit = le.latest
		if le.owner != nil {
			limit = earlier(limit, le.owner.latest)
		}
	}
	if !limit.IsZero() {
		d = max(min(d, limit.Sub(sent)), minTTL)
	}
	renewal, lives := g.extension(le, sent, d)
	if !lives {
		return cmp.Or(le.Err(), ErrNotHeld) // it may be passing on in this moment
	}
	defer g.answered(renewal.TTL)
	switch err := renewEach(ctx, g.locker.session, []Renewal{renewal})[0]; {
	case errors.Is(err, ErrLost):
		g.lose(errNotMine)
	case err != nil:
		return fmt.Errorf("extend lease on %s by %s: %w", quote(g.key), d, err)
	default:
		g.extendBy(le, sent, d)
	}
	return le.Err()
}
