package jobs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"
)

// host is what the runs of one Scheduler.Run live on.
type host struct {
	waiting context.Context // ends when the drain begins: nothing new begins
	work    context.Context // ends when the drain is over: runs are to stop
	records context.Context // ends when no more time is given to tell the store

	stopWork    context.CancelCauseFunc
	stopRecords context.CancelFunc
}

func newHost(ctx context.Context) *host {
	base := context.WithoutCancel(ctx)
	h := &host{waiting: ctx}
	h.work, h.stopWork = context.WithCancelCause(base)
	h.records, h.stopRecords = context.WithCancel(base)
	return h
}

var errDrained = errors.New("the node is shutting down and its drain timeout is over")

// lastWords is how long, after the drain timeout, runs get to notice that they are cancelled, and their records to
// reach the store.
const lastWords = 5 * time.Second

// drain ends in time whatever the runs do.
func (s *Scheduler) drain(h *host) error {
	s.mu.Lock()
	s.state = ended
	n := len(s.live)
	s.mu.Unlock()
	if n > 0 {
		s.cfg.Logger.LogAttrs(h.work, slog.LevelInfo, "jobs draining", slog.Int("runs", n), slog.Duration("timeout", s.cfg.DrainTimeout))
	}
	done := make(chan struct{})
	idle := make(chan struct{})
	go func() { // ends with the runs, which are told to; the keeper of their claims ends after them
		defer close(done)
		s.runs.Wait()
		close(idle)
		h.stopRecords()
		s.keeping.Wait()
	}()
	if !wait(idle, s.cfg.DrainTimeout) {
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
		stuck = append(stuck, l.ref.Job)
	}
	slices.Sort(stuck)
	return fmt.Errorf("jobs: %d runs go on although their context was cancelled %s ago: %q; they keep their locks until they return or the Locker is closed; make Job.Run return when its context ends",
		len(stuck), 2*lastWords, stuck)
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
