package lockrt

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"runtime/debug"
	"slices"
	"sync"
	"time"
)

// Close ends the Locker. It refuses new work with ErrClosed and ends waiting acquires with it. It cancels the context
// of every lease that is still held, with a cause that wraps ErrLost and ErrClosed, and releases the leases. It stops
// every goroutine of the Locker. So end all work under leases before the call. Leases that their MaxHold has ended and
// that nobody has released are released, too, and releases that have failed before are tried once more.
//
// It blocks until that is done, or returns within 100 ms of the end of ctx: what is left, also if ctx has ended before the
// call, is then done in the background. At a store that has not answered for 5 s it gives up within some 6 s; at one that
// answers, however late, it goes on. Leases that were not released are free after their TTL, and the error says so, as it
// does of locks that MinHold was to keep and that run out before it comes to them: those come first. It is idempotent:
// later calls wait for the first, each until its own ctx ends, and return its result. After all that it waits for the handler
// of Config.Logger that logs lost leases, for 5 s at the most.
func (l *Locker) Close(ctx context.Context) error {
	if err := l.usable(ctx); err != nil {
		return fmt.Errorf("close locker: %w", err)
	}
	l.mu.Lock()
	first := !l.closed
	l.closed = true
	l.mu.Unlock()
	if first {
		l.heard.Store(new(time.Now()))
		l.stop()
		// All leases end before the first release. Otherwise those for which ctx leaves no time would not end.
		held := l.leases()
		tell := l.loseAll(held)
		go func() {
			defer close(l.ended)
			l.closeErr = l.close(ctx, held, tell)
		}()
	}
	select {
	case <-l.ended:
		return l.closeErr
	case <-ctx.Done():
	}
	grace := time.NewTimer(graceTime)
	defer grace.Stop()
	select {
	case <-l.ended:
		return l.closeErr
	case <-grace.C:
		return fmt.Errorf("close locker: %w (what is under way at the store ends in the background)", ctx.Err())
	}
}

// close ends what is left. held are the leases that Close has ended, and those that were lost before and are not given
// back. tell calls what is the program's, and may block.
func (l *Locker) close(ctx context.Context, held []*Lease, tell func()) error {
	ctx = context.WithoutCancel(ctx)
	var telling sync.WaitGroup
	telling.Go(tell)
	known := make(map[*Lease]bool, len(held))
	for _, lease := range held {
		known[lease] = true
	}
	session, released := &closing{ended: make(chan struct{})}, make(chan struct{})
	report := new(closeReport)
	go func() { // ends waiting acquires; releases go on beside it
		defer close(session.ended)
		session.err = l.closeSession(ctx)
	}()
	go func() {
		defer close(released)
		l.releaseAll(ctx, held, report)
	}()
	waiting := l.awaitAcquires(ctx, session)
	late := slices.DeleteFunc(l.leases(), func(lease *Lease) bool { return known[lease] })
	telling.Go(l.loseAll(late))
	l.releaseAll(ctx, late, report)
	<-released
	silent := l.awaitReturns()
	if !silent {
		l.releaseLeft(ctx, slices.DeleteFunc(l.left(), report.hasTried))
	}
	answers := !silent && time.Since(*l.heard.Load()) < soon // ending the session may take longer
	<-session.ended
	err := session.err
	if answers && err == nil {
		l.releaseRefused(ctx, slices.DeleteFunc(l.left(), report.keeps))
	}
	errs := report.of(l.left())
	last, stop := l.untilSilence(ctx, time.Second)
	if failed := l.closeSession(last); failed != nil && (err == nil || !errors.Is(failed, errSilent)) {
		err = failed // it has heard of all releases now
	}
	stop()
	if err != nil {
		errs = append(errs, fmt.Errorf("close lock session: %w", err))
	}
	if waiting {
		errs = append(errs, errors.New("the session of the lock store has not ended the acquires that wait in it"))
	}
	l.stopRenew()
	l.running.Wait()
	awaitFor(callTime, &telling)
	l.expirer.stop()
	l.tells.wait(callTime)
	l.logs.Wait(callTime)
	if l.owned != nil {
		if err := guarded("was closed", l.owned.Close); err != nil {
			errs = append(errs, fmt.Errorf("close lock store: %w", err))
		}
	}
	return errors.Join(errs...)
}

// awaitFor waits for a group, and no longer than d.
func awaitFor(d time.Duration, group *sync.WaitGroup) { awaitAlive(context.Background(), d, group) }

// awaitAlive waits for a group, until a moment after the end of ctx, and no longer than d.
func awaitAlive(ctx context.Context, d time.Duration, group *sync.WaitGroup) {
	over := make(chan struct{})
	go func() {
		group.Wait()
		close(over)
	}()
	patience := time.NewTimer(d)
	defer patience.Stop()
	select {
	case <-over:
		return
	case <-ctx.Done():
	case <-patience.C:
		return
	}
	patience.Reset(min(d, lateTime))
	select {
	case <-over:
	case <-patience.C:
	}
}

func (l *Locker) closeSession(ctx context.Context) error {
	return guarded("closed its session", func() error { return l.session.Close(ctx) })
}

// closing is what becomes of the session.
type closing struct {
	ended chan struct{}
	err   error // valid after ended
}

// awaitAcquires waits for those who have been told to give up, and who give back a crossing grant by themselves. A session
// that fails may not have told them, and is closed once more. It reports whether some still wait when the store is silent.
func (l *Locker) awaitAcquires(ctx context.Context, session *closing) (waiting bool) {
	over := make(chan struct{})
	go func() {
		l.acquiring.Wait()
		close(over)
	}()
	select {
	case <-over:
		return false
	case <-session.ended:
	}
	silent, stop := l.untilSilence(ctx, time.Second)
	defer stop()
	if session.err != nil {
		select {
		case <-over:
			return false
		default:
			_ = l.closeSession(silent) // what it says is asked for again at the end
		}
	}
	select {
	case <-over:
		return false
	case <-silent.Done():
		return true
	}
}

// awaitReturns waits for the releases that are under way, at a silent store for a second at the most, and reports whether it
// is silent. Those that begin after it are refused.
func (l *Locker) awaitReturns() (silent bool) {
	l.mu.Lock()
	l.returned = true
	l.mu.Unlock()
	over := make(chan struct{})
	go func() {
		l.returning.Wait()
		close(over)
	}()
	silence := make(chan struct{})
	defer l.onSilence(time.Second, func() { close(silence) })()
	select {
	case <-over:
		return false
	case <-silence:
		return true
	}
}

// beginReturn is called before a grant is given back to the store, and l.returning.Done after that. It reports false when
// Close has waited for the last.
func (l *Locker) beginReturn() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.returned {
		l.returning.Add(1)
	}
	return !l.returned
}

// left are the grants that may be at the store still.
func (l *Locker) left() (left []*grant) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, g := range l.grants {
		if !g.gone.Load() && time.Now().Before(g.storeEnd()) {
			left = append(left, g)
		}
	}
	return left
}

// releaseRefused tries once more what was refused, at a store that answers: it may have ended with the session, or whatever
// was in the way may be over. The first that is done shows it, and the others follow. One may have a trouble of its own, so
// that a few are asked for.
func (l *Locker) releaseRefused(ctx context.Context, left []*grant) {
	for i, g := range left[:min(len(left), maxCloseErrors)] {
		before := time.Now()
		limited, stop := context.WithTimeout(ctx, soon)
		l.releaseLeft(limited, left[i:i+1])
		if stop(); g.gone.Load() {
			l.releaseLeft(ctx, left[i+1:])
			return
		}
		if l.heard.Load().Before(before) {
			return // it does not answer
		}
	}
}

// releaseLeft tries once more what others have failed to give back, or have given up, until the store is silent.
func (l *Locker) releaseLeft(ctx context.Context, left []*grant) {
	ctx, stop := l.untilSilence(ctx, 0)
	defer stop()
	slots := make(chan struct{}, mostCloseReleases)
	var all sync.WaitGroup
	for _, g := range left {
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			all.Wait()
			return
		}
		all.Go(func() {
			l.releaseGuarded(ctx, g, callTime)
			<-slots
		})
	}
	all.Wait()
}

// guarded calls a driver where no caller could recover from a panic. See guard.
func guarded(what string, call func() error) (err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		guard(what, call, &err)
	}()
	<-done
	return err
}

// guard calls a driver in a goroutine of its own, and sets err to the result. A panic is an error that says what the store
// was doing, and so is the end of the goroutine.
func guard(what string, call func() error, err *error) {
	*err = fmt.Errorf("the store ended the goroutine in which it %s (runtime.Goexit)", what)
	defer func() {
		if p := recover(); p != nil {
			*err = fmt.Errorf("the store panicked when it %s: %v\n%s", what, p, debug.Stack())
		}
	}()
	*err = call()
}

// releaseGuarded is releaseUnused in a goroutine of the Locker.
func (l *Locker) releaseGuarded(ctx context.Context, g *grant, limit time.Duration) {
	err := guarded("released a lock", func() error {
		l.releaseUnused(ctx, g, limit)
		return nil
	})
	l.logNotReleased(ctx, g, err)
}

// logNotReleased tells of a driver that has panicked, or ended its goroutine.
func (l *Locker) logNotReleased(ctx context.Context, g *grant, err error) {
	if err != nil {
		l.cfg.Logger.LogAttrs(ctx, slog.LevelError, "unused lock grant not released, left to its TTL",
			slog.String("key", g.key), slog.Any("error", err))
	}
}

// loseAll ends leases. What it leaves in their places are those to release: a lease of a batch may have been released just
// before, and was not the last. tell is to be called then, and calls what is the program's.
func (l *Locker) loseAll(leases []*Lease) (tell func()) {
	var lost []*grant
	var over []*Lease
	for i, lease := range leases {
		g := lease.grant
		if of, ended := g.endTurn(nil, &lostError{key: g.key, reason: errClosing}); ended {
			lost, over = append(lost, g), append(over, of...)
			l.noteLost(g, errClosing)
		}
		if now := g.holder(); now != nil {
			leases[i] = now
		}
	}
	return func() {
		l.telemetry.ended(over)
		for _, g := range lost {
			l.reportLost(g, g.leases(), errClosing)
		}
	}
}

// leases returns those whose turn it is under grants that have not been given back.
func (l *Locker) leases() []*Lease {
	l.mu.Lock()
	grants := slices.Collect(maps.Values(l.grants))
	l.mu.Unlock()
	var leases []*Lease
	for _, g := range grants {
		if lease := g.holder(); lease != nil {
			leases = append(leases, lease)
		}
	}
	return leases
}

const (
	// closeReleases is how many releases Close keeps in flight at first. Each that was answered soon adds one.
	closeReleases = 32
	// mostCloseReleases is how many wait to be begun at the most.
	mostCloseReleases = 1024
)

// releaseAll releases leases until ctx ends, or the store has answered none of them for callTime. What limits it is how
// long an answer takes, and not how much a store can do at a time, so it has ever more of them under way. Nobody renews
// them any more: it begins with what MinHold is to keep, and with what runs out first.
func (l *Locker) releaseAll(ctx context.Context, leases []*Lease, report *closeReport) {
	urgent := urgencies(leases)
	slices.SortStableFunc(leases, func(a, b *Lease) int { return urgent[a].compare(urgent[b]) })
	ctx, stop := l.untilSilence(ctx, 0)
	defer stop()
	var wg sync.WaitGroup
	slots := make(chan struct{}, mostCloseReleases)
	free := func() {
		select {
		case slots <- struct{}{}:
		default:
		}
	}
	for range closeReleases {
		free()
	}
	for i, lease := range leases {
		if !urgent[lease].now() {
			select {
			case <-slots:
			case <-ctx.Done():
			}
		}
		if ctx.Err() != nil {
			report.stopped(leases[i:], urgent, ctx.Err())
			break
		}
		wg.Go(func() {
			began := time.Now()
			err := guarded("released a lock", func() error { return lease.releaseAtLast(ctx) })
			free()
			if time.Since(began) < soon {
				free()
			}
			if err != nil {
				report.failed(lease, err, urgent[lease].keep)
			}
		})
	}
	wg.Wait()
}

// urgency is whether a lease is to be kept, and when it runs out at the store.
type urgency struct {
	keep bool
	end  time.Time
}

func urgencies(leases []*Lease) map[*Lease]urgency {
	of := make(map[*Lease]urgency, len(leases))
	for _, lease := range leases {
		keep, _ := lease.grant.keep(lease)
		of[lease] = urgency{keep > 0, lease.grant.storeEnd()}
	}
	return of
}

// now reports whether there is no time to wait for the releases of others.
func (u urgency) now() bool { return u.keep && time.Until(u.end) < callTime }

func (u urgency) compare(other urgency) int {
	if u.keep != other.keep {
		if u.keep {
			return -1
		}
		return 1
	}
	return u.end.Compare(other.end)
}

var errClosing = fmt.Errorf("its Locker was closed: %w", ErrClosed)
