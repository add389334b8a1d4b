package jobs

import (
	"container/heap"
	"context"
	"errors"
	"math/rand/v2"
	"time"
)

const (
	maxSleep     = time.Second     // a step of the clock or a sleep of the machine is noticed within this
	idleCheck    = time.Minute     // how often to look at a job that seems to have no runs in flight elsewhere
	storeTimeout = 3 * time.Second // for one call
	claimBatch   = 500             // jobs per call
	minBackoff   = 50 * time.Millisecond
	maxBackoff   = 5 * time.Second
)

// Run runs the jobs until ctx ends, then drains and returns: it takes on nothing new, passes on to other nodes what
// has not begun, lets runs finish for up to Config.DrainTimeout, cancels them, and records how they ended. It blocks
// all the while. It may be called once.
//
// While the store does not answer, Run keeps trying; see [Scheduler.Err]. The error says what went wrong while
// draining, nil after a clean end.
func (s *Scheduler) Run(ctx context.Context) error {
	s.mu.Lock()
	if s.state != fresh {
		s.mu.Unlock()
		return errors.New("jobs: Scheduler.Run may be called once; make a new scheduler to run again")
	}
	s.state = started
	s.mu.Unlock()

	h := newHost(ctx)
	s.keeping.Go(func() { s.keepClaims(h) })
	l := &loop{s: s, host: h}
	l.run(ctx)
	return s.drain(h)
}

// loop is the one goroutine that decides when something is to be done. It owns its entries.
type loop struct {
	s       *Scheduler
	host    *host
	heap    entryHeap
	all     []*entry
	unknown []*entry            // of which the mark is to be asked for
	unsure  map[*entry]*Pending // claims of which the answer was lost
	tryAt   time.Time           // not before then: the store did not answer
	backoff time.Duration
}

func (l *loop) run(ctx context.Context) {
	l.unsure = make(map[*entry]*Pending)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-l.s.wake:
		case <-timer.C:
		}
		l.admit()
		if !l.s.clock.now().Before(l.tryAt) {
			l.resync(ctx)
			l.look(ctx)
			l.claimDue(ctx)
		}
		timer.Reset(l.sleep())
	}
}

// admit takes over what Add left.
func (l *loop) admit() {
	l.s.mu.Lock()
	defer l.s.mu.Unlock()
	l.all = append(l.all, l.s.added...)
	l.unknown = append(l.unknown, l.s.added...)
	l.s.added = nil
}

func (l *loop) resync(ctx context.Context) {
	if l.s.clock.stepped() {
		l.s.syncClock(ctx)
	}
}

// sleep returns how long nothing is to be done.
func (l *loop) sleep() time.Duration {
	now := l.s.clock.now()
	d := maxSleep
	if len(l.heap) > 0 {
		d = min(d, l.heap[0].wake.Sub(now))
	}
	if len(l.unknown) > 0 {
		d = 0
	}
	// Behind a store that does not answer, due jobs wait for the next try.
	return max(d, min(l.tryAt.Sub(now), maxSleep), 0)
}

// claimDue claims the ticks that are due, in as few calls as there are batches.
func (l *loop) claimDue(ctx context.Context) {
	for ctx.Err() == nil {
		now := l.s.clock.now()
		due := l.heap.takeDue(now, claimBatch)
		if len(due) == 0 {
			return
		}
		var entries []*entry
		var claims []Claim
		for _, e := range due {
			p := e.next(e.mark, now)
			if p.due.IsZero() || p.due.After(now) {
				l.schedule(e, p.due)
				continue
			}
			entries = append(entries, e)
			claims = append(claims, l.s.claim(e, p, now))
		}
		if len(claims) > 0 && !l.send(entries, claims) {
			return
		}
	}
}

// send makes one call and acts on its answers. It does not end with the loop's context: a claim of which nobody waits
// for the answer might have been won. It reports whether the store answered.
func (l *loop) send(entries []*entry, claims []Claim) bool {
	ctx, cancel := context.WithTimeout(l.host.work, storeTimeout)
	defer cancel()
	sent := l.s.clock.local()
	var failure error
	for i, c := range l.s.cfg.Store.Claim(ctx, claims) {
		e, p := entries[i], claims[i].Pending
		if c.Err != nil {
			failure = c.Err
			if p != nil {
				l.unsure[e] = p
			}
			l.unknown = append(l.unknown, e)
			continue
		}
		l.s.clock.observe(c.Now, sent)
		l.s.setMark(e, c.Mark)
		switch {
		case c.Status == ClaimEarly:
			// By whatever clock this node thought it due: wait out the difference.
			l.schedule(e, l.s.clock.now().Add(max(claims[i].Due.Sub(c.Now), time.Millisecond)))
			continue
		case c.Status == ClaimWon:
			l.s.won(l.host, e, claims[i])
		case c.Status == ClaimTaken:
			// Somebody else has a run in flight. Look after it when it might be over.
			l.checkWithin(e, l.s.lease)
		}
		l.schedule(e, e.next(e.mark, l.s.clock.now()).due)
	}
	l.answered(failure)
	return failure == nil
}

// schedule puts e on the heap; a zero time leaves it out, its schedule has ended.
func (l *loop) schedule(e *entry, at time.Time) {
	l.s.setWake(e, at)
	if !at.IsZero() {
		heap.Push(&l.heap, e)
	}
}

// answered notes whether the store answered, and how soon to try again if it did not.
func (l *loop) answered(err error) {
	l.s.heard(err)
	if err == nil {
		l.backoff, l.tryAt = 0, time.Time{}
		return
	}
	l.backoff = min(max(2*l.backoff, minBackoff), maxBackoff)
	l.tryAt = l.s.clock.now().Add(l.backoff/2 + rand.N(l.backoff/2+1))
}

// checkWithin makes sure that the claims on e are looked at within d.
func (l *loop) checkWithin(e *entry, d time.Duration) {
	if at := l.s.clock.now().Add(d); e.check.IsZero() || at.Before(e.check) {
		e.check = at
	}
}
