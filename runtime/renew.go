package lockrt

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/lockgen/lockgen/internal/pace"
	"github.com/lockgen/lockgen/internal/timeheap"
)

const (
	// renewBatch is how many leases go into one call of Session.Renew; the session splits it as its store likes.
	renewBatch = 1000
	// renewWindow gathers leases that are due within it, so that many leases make few calls. A longer one would make the
	// calls so large that the store keeps its other clients waiting.
	renewWindow = time.Millisecond
)

// renewer keeps all leases of a Locker alive from one goroutine. It holds the leases in a heap by the time of their
// next renewal, a third of the TTL after the last; calls that are in flight run beside it, so that a store that does
// not answer delays no other batch, and never the leases' own deadline timers.
type renewer struct {
	session Session
	logger  *slog.Logger
	meter   *telemetry

	mu     sync.Mutex
	heap   timeheap.Heap[*grant] // by their next renewals
	wakeAt time.Time             // when run will look again by itself; zero: it waits for wake
	unmet  map[*grant]bool       // whose last renewals failed

	wake  chan struct{}
	calls sync.WaitGroup

	failing failures
}

func newRenewer(s Session, logger *slog.Logger, meter *telemetry) *renewer {
	return &renewer{session: s, logger: logger, meter: meter, wake: make(chan struct{}, 1), unmet: make(map[*grant]bool),
		heap: timeheap.New(func(g *grant) *int { return &g.renewIndex })}
}

// set schedules the next renewal of g for due, or none.
func (r *renewer) set(g *grant, due time.Time, renew bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	g.renewing = renew
	switch {
	case !renew:
		r.heap.Remove(g)
		delete(r.unmet, g)
	case !r.heap.Has(g):
		r.pushLocked(g, due)
	}
}

// again schedules the renewal after one that is done, unless g has come to another lease meanwhile that saw to it.
func (r *renewer) again(g *grant, due time.Time, failed bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.unmet, g)
	if failed && g.renewing && g.ended() == nil {
		r.unmet[g] = true
	}
	if g.renewing && !r.heap.Has(g) {
		r.pushLocked(g, due)
	}
}

func (r *renewer) pushLocked(g *grant, due time.Time) {
	// A grant sets its end before it is removed from the heap, under the same mutex as here: one sees the other.
	if g.ended() != nil {
		return
	}
	r.heap.Set(g, due)
	// run's timer may be later than this lease only when the heap was empty or this is the new first.
	if r.wakeAt.IsZero() || due.Before(r.wakeAt) {
		r.wakeAt = due
		select {
		case r.wake <- struct{}{}:
		default:
		}
	}
}

func (r *renewer) remove(g *grant) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.heap.Remove(g)
	delete(r.unmet, g)
}

// run renews until ctx ends and then waits for the calls in flight, which ctx cancels too.
func (r *renewer) run(ctx context.Context) {
	defer r.calls.Wait()
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		batch, sleep := r.takeDue(time.Now())
		if len(batch) > 0 {
			r.calls.Go(func() { r.renew(ctx, batch) })
			continue
		}
		if sleep >= 0 {
			timer.Reset(sleep)
		} else {
			timer.Stop()
		}
		select {
		case <-ctx.Done():
			return
		case <-r.wake:
		case <-timer.C:
		}
	}
}

// takeDue removes up to a batch of due leases, nearest first. Without any it says how long to sleep, negative for
// "until woken".
func (r *renewer) takeDue(now time.Time) (batch []*grant, sleep time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for len(batch) < renewBatch {
		g, ok := r.heap.TakeDue(now.Add(renewWindow))
		if !ok {
			break
		}
		batch = append(batch, g)
	}
	switch {
	case len(batch) > 0:
		return batch, 0
	case r.heap.Len() > 0:
		_, r.wakeAt = r.heap.First()
	case !r.wakeAt.After(now):
		r.wakeAt = time.Time{}
		return nil, -1
	}
	// With an empty heap, wakeAt stays: otherwise a lease that comes and goes before its first renewal, as most do, would
	// wake this goroutine each time.
	return nil, max(r.wakeAt.Sub(now), 0)
}

// renew asks for one batch and schedules each of its leases again.
func (r *renewer) renew(ctx context.Context, batch []*grant) {
	renewals := make([]Renewal, len(batch))
	callLimit := maxTTL
	sent := time.Now()
	for i, g := range batch {
		renewals[i] = g.renewal(sent)
		callLimit = min(callLimit, r.callLimit(g, renewals[i].TTL, sent))
	}
	callCtx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	answered := false
	defer func() {
		for i, g := range batch {
			if !answered { // the driver has ended the goroutine
				g.answered(renewals[i].TTL)
				r.again(g, time.Now().Add(pace.Jitter(minTTL)), true)
			}
		}
	}()
	errs := renewEach(callCtx, r.session, renewals)
	answered = true
	failed, first := 0, error(nil)
	var lost []*grant
	for i, g := range batch {
		g.answered(renewals[i].TTL)
		switch err := errs[i]; {
		case err == nil:
			g.extend(sent, renewals[i].TTL)
			r.again(g, sent.Add(pace.Jitter(renewals[i].TTL/3)), false)
		case errors.Is(err, ErrLost):
			lost = append(lost, g)
		default:
			failed, first = failed+1, err
			r.again(g, time.Now().Add(pace.Jitter(min(max(renewals[i].TTL/20, minTTL), time.Second))), true)
		}
	}
	loseEach(lost)
	switch {
	case failed == 0:
		if r.allMet() && r.failing.end() {
			r.logger.LogAttrs(ctx, slog.LevelInfo, "lock leases are renewed again")
		}
	case ctx.Err() == nil:
		r.meter.renewalsFailed(failed)
		if first = unanswered(first, callLimit); r.failing.begin(first) {
			r.logger.LogAttrs(ctx, slog.LevelWarn, "lock leases not renewed, trying again until their deadlines",
				slog.Int("leases", failed), slog.String("first_key", firstFailed(renewals, errs)), slog.Any("error", first))
		}
	}
}

// callLimit is how long a call may take that renews a lease. Two thirds of the TTL are left for the first, and one that is
// stuck on a dead connection must leave time for others. Those have half of what is left: a store that is slow may answer.
func (r *renewer) callLimit(g *grant, ttl time.Duration, now time.Time) time.Duration {
	limit := ttl / 6
	r.mu.Lock()
	failed := r.unmet[g]
	r.mu.Unlock()
	if failed {
		_, deadline := g.state()
		limit = max(limit, deadline.Sub(now)/2)
	}
	return max(limit, minTTL)
}

// allMet reports whether there is no lease whose last renewal failed.
func (r *renewer) allMet() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.unmet) == 0
}

// renewEach is Session.Renew with a result for each renewal, whatever the driver returned.
func renewEach(ctx context.Context, s Session, renewals []Renewal) []error {
	errs := s.Renew(ctx, renewals)
	for len(errs) < len(renewals) {
		errs = append(errs, errNoResult)
	}
	return errs
}

var errNoResult = errors.New("the store's driver returned no result for the renewal")

var errNotMine = errors.New("the store no longer knows it: it expired, was broken or forgotten")

func firstFailed(renewals []Renewal, errs []error) string {
	for i, err := range errs {
		if err != nil && !errors.Is(err, ErrLost) {
			return renewals[i].Key
		}
	}
	return ""
}
