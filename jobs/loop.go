package jobs

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/lockgen/lockgen/internal/timeheap"
)

const (
	storeTimeout = 3 * time.Second // for one call
	claimBatch   = 512             // jobs per call
	minBackoff   = 50 * time.Millisecond
	maxBackoff   = 5 * time.Second
	// maxPause is the longest pause before something is tried again that comes to nothing for all alike: the jobs of a
	// part are not late by more than about this when it answers again.
	maxPause = time.Second
	// dormantRecheck is how often a node asks whether its timing of a job is in force: others may have gone unseen.
	dormantRecheck = time.Minute
)

// Run runs the jobs until ctx ends or [Scheduler.Drain] is called, then drains and returns. To drain, it takes on no
// new runs and passes on to other nodes the runs that have not begun. It lets the others finish for up to
// Config.DrainTimeout, cancels them, and records how they ended. It blocks until then. It may be called once.
//
// While the store does not answer, Run keeps trying; see [Scheduler.Err]. The error says what went wrong while
// draining, nil after a clean end.
func (s *Scheduler) Run(ctx context.Context) error {
	own := ctx
	ctx, stop := context.WithCancel(own)
	defer stop()
	h := newHost(own, ctx, s.cfg.DrainTimeout)
	defer context.AfterFunc(own, func() { h.change(func() { h.over = time.Now() }) })()
	s.mu.Lock()
	if s.state != fresh {
		s.mu.Unlock()
		return errors.New("jobs: Scheduler.Run may be called once; make a new scheduler to run again")
	}
	s.state, s.host, s.stop = started, h, stop
	s.mu.Unlock()
	s.cfg.Logger.InfoContext(ctx, "job scheduler started", "node", s.cfg.Node, "session", s.session)

	defer context.AfterFunc(ctx, s.live.dismiss)()
	s.keeping.Go(func() { s.keepSession(h) })
	var loops sync.WaitGroup
	for _, p := range s.parts {
		l := &loop{s: s, part: p, host: h, heap: timeheap.New(func(e *entry) *int { return &e.index })}
		loops.Go(func() { l.run(ctx) })
	}
	loops.Wait()
	return s.drain(h)
}

// loop is the one goroutine that decides when something is to be done about the jobs of a part. It owns its entries.
type loop struct {
	s       *Scheduler
	part    *part
	host    *host
	heap    timeheap.Heap[*entry] // by when to look at them again
	unknown []*entry              // to be registered
	// another timing is in force, or another program has the job: offered again when a node goes. Those of the first kind
	// are on the heap as well, so that this node hears how far the others are.
	dormant []*entry
	// the store has another epoch of them: because of a deploy, or because it has lost data and another node was the
	// first to register them again. The second heartbeat from then on tells, as the first may be under way.
	doubtful []*entry
	certain  uint64    // the heartbeat that tells about all of them
	locked   []*entry  // to be registered once nobody has them locked
	offerAt  time.Time // when to try that again
	deferred []*entry  // due, but left to other nodes until later
	later    time.Time
	patience time.Duration // what the last deferral was
	claiming bool          // more of this node's own is due
	suspect  bool          // a node has gone: what it had put in force may not be so any more
	recheck  time.Time     // when to ask about dormant entries even if no node seems to have gone
	soon     []OneOff      // one-off jobs that are soon due, the next first
	tryAt    time.Time     // not before then: the store did not answer
	backoff  time.Duration
	steps    uint64 // of the part's clock, that the moments above go by
}

func (l *loop) run(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-l.part.wake:
		case <-timer.C:
		}
		l.followClock()
		l.admit()
		l.settle()
		if !l.part.clock.now().Before(l.tryAt) {
			l.resync(ctx)
			l.checkEpochs(ctx)
			l.register(ctx)
			if !time.Now().Before(l.part.onHold()) {
				l.claimDue(ctx)
				l.claimDeferred(ctx)
				l.claimOneOffs(ctx)
			}
		}
		timer.Reset(l.sleep())
	}
}

// followClock looks at everything anew when the clock that all moments are on was set: a step back would have the loop
// wait for as long as the clock has gone back.
func (l *loop) followClock() {
	steps := l.part.clock.stepCount()
	if steps == l.steps {
		return
	}
	l.steps = steps
	now := l.part.clock.now()
	l.tryAt, l.later, l.recheck, l.offerAt = time.Time{}, now, time.Time{}, now
	for _, e := range l.planned() {
		e.owedAt = now
		l.heap.Set(e, now)
	}
}

// admit takes over what Add and expect left.
func (l *loop) admit() {
	l.s.mu.Lock()
	defer l.s.mu.Unlock()
	l.unknown = append(l.unknown, l.part.added...)
	if now := l.part.clock.now(); l.part.departed || len(l.dormant) > 0 && !now.Before(l.recheck) {
		l.recheck, l.suspect = now.Add(dormantRecheck), l.suspect || l.part.departed
		for _, e := range l.dormant {
			if l.heap.Has(e) {
				l.heap.Remove(e)
			}
		}
		l.unknown, l.dormant, l.part.departed = append(l.unknown, l.dormant...), nil, false
	}
	l.offerLocked()
	for _, o := range l.part.soon {
		if !slices.ContainsFunc(l.soon, func(known OneOff) bool { return known.ID == o.ID }) {
			l.soon = append(l.soon, o)
		}
	}
	for _, e := range l.part.freed {
		if e.busy && l.heap.Has(e) {
			e.owedAt = l.part.clock.now()
			l.heap.Set(e, e.owedAt)
		}
	}
	if len(l.doubtful) > 0 && l.part.answers >= l.certain {
		l.unknown, l.doubtful = append(l.unknown, l.doubtful...), nil
	}
	if l.part.stale {
		l.offerAll()
	}
	l.part.added, l.part.soon, l.part.freed = nil, nil, nil
	slices.SortFunc(l.soon, OneOff.Compare)
}

// checkEpochs finds the jobs of which another node has changed the timing in force. When a node has gone it is for
// those who have an older timing to put that back in force.
func (l *loop) checkEpochs(ctx context.Context) {
	if !l.suspect {
		return
	}
	for batch := range slices.Chunk(l.planned(), 4*claimBatch) {
		callCtx, cancel := context.WithTimeout(ctx, storeTimeout)
		epochs, err := l.s.cfg.Store.Epochs(callCtx, names(batch))
		cancel()
		if ctx.Err() != nil {
			return // what it said says nothing about the store
		}
		l.part.heard(comparing, err)
		if l.answered(err); err != nil {
			return
		}
		for i, e := range batch {
			if epochs[i] != e.epoch {
				l.heap.Remove(e)
				l.unknown = append(l.unknown, e)
			}
		}
	}
	l.suspect = false
}

// planned are the entries whose ticks wait for their time.
func (l *loop) planned() []*entry {
	l.s.mu.Lock()
	defer l.s.mu.Unlock()
	return slices.DeleteFunc(l.part.entries(), func(e *entry) bool { return e.dormant || !l.heap.Has(e) })
}

// offerAll has all jobs registered again. It needs Scheduler.mu.
func (l *loop) offerAll() {
	l.part.stale, l.unknown, l.dormant, l.deferred, l.doubtful, l.locked = false, nil, nil, nil, nil, nil
	for _, e := range l.part.entries() {
		if l.heap.Has(e) {
			l.heap.Remove(e)
		}
		l.unknown = append(l.unknown, e)
	}
}

func (l *loop) resync(ctx context.Context) {
	if l.part.clock.stepped() {
		l.part.syncClock(ctx)
	}
}

// register offers jobs to the store and asks for their cursors. It waits until this node has heard who else is alive. A
// store that has lost data hears of pauses first: once it has the cursors others may claim.
func (l *loop) register(ctx context.Context) {
	if len(l.unknown) > 0 {
		l.part.restore(l.host)
	}
	for len(l.unknown) > 0 && len(l.part.alive()) > 0 && ctx.Err() == nil {
		batch := l.unknown[:min(len(l.unknown), claimBatch)]
		callCtx, cancel := context.WithTimeout(ctx, storeTimeout)
		sent := l.part.clock.local()
		view, err := l.s.cfg.Store.Register(callCtx, l.part.registration(batch))
		cancel()
		if ctx.Err() != nil {
			return // what it said says nothing about the store
		}
		l.part.heardOffers(view, err)
		if l.answered(err); err != nil {
			return
		}
		l.part.clock.observe(view.Now, sent)
		for i, e := range batch {
			if view.Jobs[i].Err != nil {
				continue
			}
			if v := &view.Jobs[i]; v.Refused == "" && v.Cursor.Before(e.cursor) {
				l.part.noticeLoss("it has forgotten job " + e.job.Name + " at once after it was registered")
				l.tryAt = l.part.clock.now().Add(minBackoff)
				return // all are offered again then
			}
			l.admitted(e, view.Jobs[i])
		}
		l.unknown = l.unknown[len(batch):]
		l.withhold(batch, view)
	}
}

// admitted takes in the answer to an offer.
func (l *loop) admitted(e *entry, view JobView) {
	before := e.refused
	if l.learn(e, view) {
		if e.schedule != nil {
			l.schedule(e)
		}
		return
	}
	if l.heap.Has(e) {
		l.heap.Remove(e)
	}
	l.dormant = append(l.dormant, e)
	switch {
	case e.refused == "":
		l.schedule(e)
		l.s.cfg.Logger.Info("job left to the nodes that have a newer timing of it",
			"job", e.job.Name, "ours", e.timing().Spec, "theirs", view.Spec.Timings[len(view.Spec.Timings)-1].Timing.Spec)
	case e.refused != before:
		l.s.cfg.Logger.Error("job refused", "error", l.s.refusal(e, e.refused))
	}
}

func names(entries []*entry) []string {
	all := make([]string, len(entries))
	for i, e := range entries {
		all[i] = e.job.Name
	}
	return all
}

// sleep returns how long nothing is to be done.
func (l *loop) sleep() time.Duration {
	now := l.part.clock.now()
	d := l.s.cfg.Heartbeat // a step of the clock or a sleep of the machine is noticed within this
	if l.heap.Len() > 0 {
		_, first := l.heap.First()
		d = min(d, first.Sub(now))
	}
	if len(l.soon) > 0 {
		d = min(d, l.soon[0].At.Sub(now))
	}
	if len(l.deferred) > 0 {
		d = min(d, l.later.Sub(now))
	}
	if len(l.locked) > 0 {
		d = min(d, l.offerAt.Sub(now))
	}
	if len(l.unknown) > 0 && len(l.part.alive()) > 0 {
		d = 0
	}
	if hold := time.Until(l.part.onHold()); hold > 0 {
		d = max(d, min(hold, l.s.cfg.Heartbeat))
		if len(l.unknown) > 0 {
			d = 0
		}
	}
	// Behind a store that does not answer, due jobs wait for the next try.
	return max(d, min(l.tryAt.Sub(now), l.s.cfg.Heartbeat), 0)
}

// schedule plans what is next about e and puts it on the heap; it is left out if its schedule has ended.
func (l *loop) schedule(e *entry) {
	if e.dormant {
		l.wakeAt(e, l.hearing(e))
		return
	}
	e.plan = e.next(e.cursor, l.part.clock.now())
	if why := failureOf(e.schedule); why != "" && e.plan.due.IsZero() {
		l.s.cfg.Logger.Error("job has no ticks, its Schedule fails; asking it again in a minute", "job", e.job.Name,
			"error", why)
		e.plan.due = l.part.clock.now().Add(time.Minute) // holds for no moment, so it is made anew then
	}
	at := e.plan.due
	if len(e.owed) > 0 && (at.IsZero() || e.owedAt.Before(at)) {
		at = e.owedAt
		if now := l.part.clock.now(); at.Before(now) {
			at = now
		}
	}
	if !at.IsZero() {
		at = latest(at, e.rests)
	}
	l.wakeAt(e, at)
}

// hearing is when to ask for the cursor of a job of which other nodes run the ticks: a moment after the next of them. If
// those nodes die and the store loses its data, this node knows what they have done.
func (l *loop) hearing(e *entry) time.Time {
	now, every := l.part.clock.now(), l.s.cfg.Heartbeat
	next := e.after(e.cursor)
	switch {
	case len(e.owed) > 0 || !next.IsZero() && next.Before(now):
		return now.Add(every)
	case next.IsZero():
		return next
	}
	return next.Add(e.jitter(next) + every/4)
}

// wakeAt puts e on the heap; a zero time leaves it out.
func (l *loop) wakeAt(e *entry, at time.Time) {
	if !at.IsZero() {
		l.heap.Set(e, at)
	}
}

// answered notes how soon to try again, if the store did not answer.
func (l *loop) answered(err error) {
	if err == nil {
		l.backoff, l.tryAt = 0, time.Time{}
		return
	}
	l.backoff = min(max(2*l.backoff, minBackoff), maxPause*3/2)
	l.tryAt = l.part.clock.now().Add(l.backoff/2 + rand.N(l.backoff/2+1))
}

// together is the pause before the next try of a call for one run, which grows to maxPause. The runs that have come to
// that try at the same moments, so that they share calls: a store that fails is not asked more often for more runs.
func (s *Scheduler) together(wait time.Duration) time.Duration {
	if wait < maxPause {
		return wait
	}
	return maxPause - time.Since(s.began)%maxPause
}
