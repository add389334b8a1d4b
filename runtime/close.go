package lockrt

import (
	"context"
	"errors"
	"fmt"
	"maps"
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
	ctx, caller := onBehalf(ctx)
	defer caller.goOn()
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
		errs = append(errs, errors.New("the session of the lock store has not ended the acquires that wait in it: they end when their locks are free, "+
			"or with their contexts; its driver is broken"))
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

func (l *Locker) closeSession(ctx context.Context) error {
	return guarded("closed its session", func() error { return l.session.Close(ctx) })
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

var errClosing = fmt.Errorf("its Locker was closed: %w", ErrClosed)
