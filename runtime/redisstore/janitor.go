package redisstore

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockgen/lockgen/internal/pace"
)

const (
	// cancelBatch is how many leases are cancelled in one round trip.
	cancelBatch = 500
	// closeTime bounds what Close still does, closeWait how long it waits for acquires under way, and for each answer.
	closeTime = 5 * time.Second
	closeWait = time.Second
)

// cleanUp cancels what is left over. When the session closes, it waits for the last callers and tries what is left once
// more.
func (s *session) cleanUp() {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	backoff := time.Duration(0)
	for {
		if backoff > 0 { // the server is away
			pace.Sleep(s.ctx, backoff)
		}
		timer.Reset(s.janitorPause())
		select {
		case <-s.ctx.Done():
			s.acquiring.Wait()
			s.cancelRest()
			return
		case <-s.wakeJanitor:
		case <-timer.C:
		}
		if _, failed := s.cancelSome(s.ctx, false); failed {
			backoff = pace.Jitter(min(max(2*backoff, 100*time.Millisecond), time.Second))
		} else {
			backoff = 0
		}
	}
}

// janitorPause is how long the janitor has nothing to do.
func (s *session) janitorPause() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	pause := time.Hour
	switch {
	case len(s.ready) > 0:
		pause = 0
	case s.sleepers.Len() > 0:
		_, at := s.sleepers.First()
		pause = max(time.Until(at), 0)
	}
	s.janitorSleeps = time.Now().Add(pause)
	return pause
}

// cancelRest cancels everything that is left, once, when nobody acquires any more. It waits for the acquires that are
// still under way, which may be granted after their callers have gone. What it does not reach until the session has to
// be closed is left to its TTL.
func (s *session) cancelRest() {
	ctx, cancel := context.WithDeadline(context.WithoutCancel(s.ctx), s.closeBy)
	defer cancel()
	quiet := make(chan struct{})
	s.calls.Start(func() {
		for _, st := range s.stripes {
			st.acquires.Wait()
		}
		close(quiet)
	})
	select {
	case <-quiet:
	case <-time.After(closeWait):
	}
	for backoff := time.Duration(0); pace.Sleep(ctx, backoff); {
		trip, done := context.WithTimeout(ctx, closeWait)
		tried, failed := s.cancelSome(trip, true)
		done()
		if tried == 0 {
			return
		}
		backoff = 0
		if failed {
			backoff = pace.Jitter(100 * time.Millisecond)
		}
	}
}

// left is how many leases nobody wants that the server may have.
func (s *session) left() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.leftovers {
		if !l.wanted {
			n++
		}
	}
	return n
}

// cancelSome cancels a batch: what is due, or all that nobody wants. It reports how many were tried, and whether the
// server has not answered for some.
func (s *session) cancelSome(ctx context.Context, all bool) (tried int, failed bool) {
	batch := s.takeLeftovers(all)
	calls := make([]call, len(batch))
	for i, l := range batch {
		calls[i] = call{Keys: l.keys.all(), Args: []any{l.id, s.retention.Milliseconds()}}
	}
	ctx, cancel := bounded(ctx)
	defer cancel()
	cmds := s.calls.pipeline(ctx, s.client, cancelScript, calls)
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, l := range batch {
		failed = !s.cancelled(l, cmds[i], all) || failed
	}
	return len(batch), failed
}

// takeLeftovers returns the next batch of those that are due.
func (s *session) takeLeftovers(all bool) (batch []*leftover) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	for {
		due := now
		if all && s.sleepers.Len() > 0 {
			_, due = s.sleepers.First()
		}
		l, ok := s.sleepers.TakeDue(due)
		if !ok {
			break
		}
		if l.wanted || l.kept.After(now) {
			s.forgetLeftover(l) // what it could bring about it has; or its MinHold outlives the session
			continue
		}
		l.state = ready
		s.ready = append(s.ready, l)
	}
	n := min(len(s.ready), cancelBatch)
	batch = append(batch, s.ready[:n]...)
	if s.ready = s.ready[n:]; len(s.ready) == 0 {
		s.ready = nil
	}
	for _, l := range batch {
		l.state = taken
	}
	return batch
}

// cancelled takes the answer to a cancel and reports whether there is one. The last cancel of a lease comes when the
// server's clock has passed the latest moment of its unanswered requests. mu is held.
func (s *session) cancelled(l *leftover, cmd *redis.Cmd, last bool) bool {
	answer, err := ints(cmd, 2)
	again := l.again
	l.state, l.again = asleep, false
	switch now := time.Now(); {
	case err == nil && (last || !again && answer[1] > l.latest):
		s.forgetLeftover(l)
	case err == nil && again:
		s.cancelSoon(l)
	case err == nil:
		s.sleepers.Set(l, now.Add(time.Duration(l.latest-answer[1])*time.Microsecond+time.Millisecond))
	case now.After(l.until) || !retryable(err) && !errors.Is(err, context.Canceled):
		s.forgetLeftover(l)
	default:
		s.cancelSoon(l)
		return false
	}
	return true
}
