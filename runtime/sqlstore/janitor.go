package sqlstore

import (
	"context"
	"time"

	"github.com/lockgen/lockgen/internal/pace"
)

const (
	// janitors is how many leftovers are cancelled at a time.
	janitors = 4
	// closeTime bounds what Close still cancels, closeWait how long it waits for statements under way before.
	closeTime = 5 * time.Second
	closeWait = time.Second
	// sweepEvery is how often rows that nobody wants any more are looked for.
	sweepEvery = 10 * time.Minute
)

// cleanUp cancels what is left over, and deletes old rows. When the session closes it waits for the last callers and
// tries what is left once more.
func (s *session) cleanUp() {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	sweep := time.Now().Add(pace.Jitter(2 * sweepEvery))
	var after []byte
	for s.ctx.Err() == nil {
		s.cancelDue(context.Background(), false)
		if time.Now().After(sweep) {
			after = s.sweepPage(context.Background(), after)
			sweep = time.Now().Add(pace.Jitter(2 * sweepEvery))
		}
		timer.Reset(min(s.janitorPause(), time.Until(sweep)))
		select {
		case <-s.ctx.Done():
		case <-s.wakeJanitor:
		case <-timer.C:
		}
	}
	s.acquiring.Wait()
	s.awaitAsks()
	ctx, cancel := context.WithTimeout(context.Background(), closeTime)
	defer cancel()
	s.cancelDue(ctx, true)
}

// awaitAsks waits for questions whose callers have left: they may still bring something.
func (s *session) awaitAsks() {
	quiet := make(chan struct{})
	s.calls.Start(func() {
		s.asks.Wait()
		close(quiet)
	})
	select {
	case <-quiet:
	case <-time.After(closeWait):
	}
}

func (s *session) janitorPause() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.chores.Len() == 0 {
		return time.Hour
	}
	_, at := s.chores.First()
	return max(time.Until(at), 0)
}

// cancelDue cancels what is due, or all that nobody wants, once.
func (s *session) cancelDue(ctx context.Context, last bool) {
	due := s.takeDue(last)
	workers := make(chan struct{}, janitors)
	for _, l := range due {
		workers <- struct{}{}
		s.calls.Start(func() {
			defer func() { <-workers }()
			s.cancelOne(ctx, l, last)
		})
	}
	for range cap(workers) {
		workers <- struct{}{}
	}
}

func (s *session) takeDue(all bool) (due []*leftover) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if all {
		now = now.Add(1000 * time.Hour)
	}
	for {
		l, ok := s.chores.TakeDue(now)
		if !ok {
			return due
		}
		if l.wanted {
			s.forgetLeftover(l) // what its statement could bring about it has
			continue
		}
		l.busy, l.again = true, false
		due = append(due, l)
	}
}

// cancelOne takes a lease out of the queue or off its lock, and says when to do so again.
func (s *session) cancelOne(ctx context.Context, l *leftover, last bool) {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	clock, err := s.cancel(ctx, l.id, rowName(s.Namespace, l.key))
	s.mu.Lock()
	defer s.mu.Unlock()
	l.busy = false
	switch now := time.Now(); {
	case err == nil && (last || !l.again && clock > l.latest):
		s.forgetLeftover(l)
	case err == nil && l.again:
		s.chore(l, now)
	case err == nil:
		s.chore(l, now.Add(fromMicros(l.latest-clock)+time.Millisecond))
	case last || now.After(l.until):
		s.forgetLeftover(l)
	default:
		l.backoff = min(max(2*l.backoff, 50*time.Millisecond), time.Second)
		s.chore(l, now.Add(pace.Jitter(l.backoff)))
	}
}

// cancel takes a lease out of the queue, or off the lock, which goes on. It returns the server's clock.
func (s *session) cancel(ctx context.Context, id string, name []byte) (clock int64, err error) {
	t, err := s.store.ready(ctx)
	if err != nil {
		return 0, err
	}
	err = s.change(ctx, t, name, func(r *row, now int64, lives liveness) (bool, row, string) {
		clock = now
		if r == nil {
			return false, row{}, ""
		}
		if at := r.find(id); at >= 0 {
			return false, *r, r.queue[at].line()
		}
		if r.owner != id {
			return false, *r, ""
		}
		return true, r.pass(now, lives), ""
	})
	return clock, err
}
