package jobs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"sync/atomic"
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

	timeout atomic.Int64 // of the drain, a time.Duration
}

func newHost(ctx context.Context, timeout time.Duration) *host {
	base := context.WithoutCancel(ctx)
	h := &host{waiting: ctx, ended: make(chan struct{})}
	h.timeout.Store(int64(timeout))
	h.work, h.stopWork = context.WithCancelCause(base)
	h.records, h.stopRecords = context.WithCancel(base)
	return h
}

var errDrained = errors.New("the node is shutting down and its drain timeout is over")

// Drain ends [Scheduler.Run], as the end of its context does, but lets runs finish until ctx ends in place of
// Config.DrainTimeout. It blocks until Run is about to return, or for ten seconds more than ctx, in which runs that
// were cancelled may write their records. The error is ctx's if that ended first. A scheduler that does not run is
// drained.
func (s *Scheduler) Drain(ctx context.Context) error {
	s.mu.Lock()
	h, stop := s.host, s.stop
	s.mu.Unlock()
	if h == nil {
		return nil
	}
	timeout := time.Duration(math.MaxInt64)
	if deadline, ok := ctx.Deadline(); ok {
		timeout = max(time.Until(deadline), 0)
	}
	h.timeout.Store(int64(timeout))
	stop()
	select {
	case <-h.ended:
		return nil
	case <-ctx.Done():
	}
	h.stopWork(errDrained)
	if !wait(h.ended, 2*lastWords) {
		return fmt.Errorf("drain jobs: %w: runs go on although they were cancelled", ctx.Err())
	}
	return ctx.Err()
}

// lastWords is how long, after the drain timeout, runs get to notice that they are cancelled, and their records to
// reach the store.
const lastWords = 5 * time.Second

// drain ends in time whatever the runs do.
func (s *Scheduler) drain(h *host) error {
	defer close(h.ended)
	timeout := time.Duration(h.timeout.Load())
	s.mu.Lock()
	s.state = ended
	n := len(s.live)
	s.mu.Unlock()
	s.cfg.Logger.LogAttrs(h.work, slog.LevelInfo, "jobs draining", slog.Int("runs", n),
		slog.Duration("timeout", timeout))
	done := make(chan struct{})
	idle := make(chan struct{})
	go func() { // ends with the runs, which are told to; the keeper of their claims ends after them
		defer close(done)
		s.runs.Wait()
		close(idle)
		h.stopRecords()
		s.keeping.Wait()
	}()
	if !waitOr(h.work, idle, timeout) {
		h.stopWork(errDrained)
		wait(idle, lastWords)
		h.stopRecords()
	}
	if wait(done, lastWords) {
		h.stopWork(nil)
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var stuck []string
	for _, l := range s.live {
		stuck = append(stuck, l.job)
	}
	slices.Sort(stuck)
	return fmt.Errorf("jobs: %d runs go on although their context was cancelled %s ago: %q; they keep their locks "+
		"until they "+
		"return or the Locker is closed; make Job.Run return when its context ends", len(stuck), 2*lastWords, stuck)
}

// waitOr is wait, unless ctx ends first, as that of [Scheduler.Drain] may.
func waitOr(ctx context.Context, done <-chan struct{}, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-ctx.Done():
	case <-timer.C:
	}
	return wait(done, 0)
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
