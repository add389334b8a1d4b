package jobs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

// host is what the runs of one Scheduler.Run live on.
type host struct {
	waiting context.Context // ends when the drain begins: nothing new begins, see dismiss
	work    context.Context // ends when the drain is over: runs are to stop
	records context.Context // ends when no more time is given to tell the store

	stopWork    context.CancelCauseFunc
	stopRecords context.CancelFunc
	ended       chan struct{} // closed when Run returns

	timeout time.Duration // Config.DrainTimeout

	mu       sync.Mutex // guards what follows
	over     time.Time  // when the context of Run ended; zero: it has not
	requests map[*time.Time]bool
	cutOff   bool          // runs were cancelled by the drain
	changed  chan struct{} // has room for one
}

// newHost makes the host of a Run with context own, which waiting comes from.
func newHost(own, waiting context.Context, timeout time.Duration) *host {
	base := context.WithoutCancel(own)
	h := &host{
		waiting: waiting, ended: make(chan struct{}), timeout: timeout,
		requests: make(map[*time.Time]bool), changed: make(chan struct{}, 1),
	}
	h.work, h.stopWork = context.WithCancelCause(base)
	h.records, h.stopRecords = context.WithCancel(base)
	return h
}

// change has drain look at how long it may last anew.
func (h *host) change(f func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	f()
	select {
	case h.changed <- struct{}{}:
	default: // it has not yet seen the last change
	}
}

// end returns when the runs are to be cut off: at the latest time that anybody has given them. It returns false if that
// is open. A request without an end counts until the context of Run has ended.
func (h *host) end() (at time.Time, known bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.over.IsZero() {
		at = h.over.Add(h.timeout)
	}
	for until := range h.requests {
		if until.IsZero() && h.over.IsZero() {
			return at, false
		}
		at = latest(at, *until)
	}
	return at, !at.IsZero()
}

var errDrained = errors.New("the node is shutting down and its drain timeout is over")

// ErrCutOff says that runs were cancelled because the time of a drain was over; it is wrapped.
var ErrCutOff = errors.New("runs were cut off")

// Drain ends [Scheduler.Run], as the end of its context does, but lets runs finish until ctx ends. Of several times the
// longest counts: that of each Drain, and Config.DrainTimeout from when the context of Run has ended. A ctx without a
// deadline gives them any time until the context of Run ends, and no more than DrainTimeout from then on. So a time
// beyond DrainTimeout needs a deadline, or a Run whose context outlives the signal to end.
//
// Drain blocks until Run is about to return, or for ten seconds more than ctx, in which runs that were cancelled may
// clean up. The error wraps ErrCutOff if runs were cancelled, and ctx's if that ended first. It is an error
// to call Drain with the context of a run of this scheduler: each would wait for the other. A scheduler that does not
// run is drained.
func (s *Scheduler) Drain(ctx context.Context) error {
	if v, inside := ctx.Value(tickKey{}).(tickValue); inside && v.s == s {
		return fmt.Errorf("drain jobs: called with the context of a run of job %q, which the drain would wait for: "+
			"end the context of Scheduler.Run instead, or call Drain in a goroutine with another context", v.job)
	}
	s.mu.Lock()
	h, stop := s.host, s.stop
	s.mu.Unlock()
	if h == nil {
		return nil
	}
	until := new(time.Time)
	if deadline, ok := ctx.Deadline(); ok {
		*until = deadline
	}
	h.change(func() { h.requests[until] = true })
	stop()
	var err error
	select {
	case <-h.ended:
	case <-ctx.Done():
		err = ctx.Err()
		h.change(func() { *until = time.Now() })
		if !wait(h.ended, 2*lastWords) {
			why := "runs go on although they were cancelled"
			if h.work.Err() == nil {
				why = "runs go on, another Drain or Config.DrainTimeout gives them longer"
			}
			return fmt.Errorf("drain jobs: %w: %s", err, why)
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.cutOff {
		err = errors.Join(ErrCutOff, err)
	}
	if err != nil {
		return fmt.Errorf("drain jobs: %w", err)
	}
	return nil
}

// lastWords is how long, after the drain timeout, runs get to notice that they are cancelled, and their records to
// reach the store.
const lastWords = 5 * time.Second

// drain ends in time whatever the runs do.
func (s *Scheduler) drain(h *host) error {
	defer close(h.ended)
	s.mu.Lock()
	s.state = ended
	s.mu.Unlock()
	n := s.live.close()
	s.cfg.Logger.LogAttrs(h.work, slog.LevelInfo, "jobs draining", slog.Int("runs", n))
	done := make(chan struct{})
	idle := make(chan struct{})
	go func() { // ends with the runs, which are told to; the heartbeats, which keep their claims, end after them
		defer close(done)
		s.live.goroutines.Wait()
		close(idle)
		h.stopRecords()
		s.keeping.Wait()
	}()
	if !h.await(idle) {
		h.change(func() { h.cutOff = true })
		h.stopWork(errDrained)
		wait(idle, lastWords)
		h.stopRecords()
	}
	if wait(done, lastWords) {
		h.stopWork(nil)
		return nil
	}
	stuck := s.live.jobs()
	return fmt.Errorf("jobs: %d runs go on although their context was cancelled %s ago: %q; they keep their locks "+
		"until they "+
		"return or the Locker is closed; make Job.Run return when its context ends", len(stuck), 2*lastWords, stuck)
}

// await reports whether the runs are done before they are to be cut off.
func (h *host) await(idle <-chan struct{}) bool {
	for {
		var over <-chan time.Time
		if at, known := h.end(); known {
			timer := time.NewTimer(time.Until(at))
			defer timer.Stop() // changes are few
			over = timer.C
		}
		select {
		case <-idle:
			return true
		case <-h.changed:
		case <-over:
			return wait(idle, 0)
		}
	}
}

// wait reports whether done was closed within d.
func wait(done <-chan struct{}, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
		select {
		case <-done:
			return true
		default:
			return false
		}
	}
}

// pause waits for d and reports false if ctx ended first.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return ctx.Err() == nil
	}
}
