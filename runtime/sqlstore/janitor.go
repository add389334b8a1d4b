package sqlstore

import (
	"context"
	"errors"
	"time"

	"github.com/lockgen/lockgen/internal/pace"
	"github.com/lockgen/lockgen/internal/sqldialect"
	"github.com/lockgen/lockgen/runtime/internal/janitor"
)

const (
	// janitors is how many leftovers are cancelled at a time.
	janitors = 4
	// cancelPatience is how long the others wait for a cancel that has no answer, and how long its lease is left alone then.
	cancelPatience = 250 * time.Millisecond
	// closeTime is until when Close cancels what is left, closeWait how long it waits for statements under way before and after
	// that, and how much time it has at the least.
	closeTime = 4 * time.Second
	closeWait = time.Second
	// sweepEvery is how often rows that nobody wants any more are looked for.
	sweepEvery = 10 * time.Minute
)

func (s *session) newJanitor() *janitor.Janitor[string] {
	return janitor.New(janitor.Config[string]{
		Cancel: s.cancelBatch, Most: 16 * janitors,
		When:  func(_ string, micros int64) time.Time { return s.store.clock.When(micros) },
		Lag:   func() time.Duration { return time.Duration(s.store.rowWait.Load()) },
		Retry: func(err error) bool { return !errors.Is(err, sqldialect.ErrReplaced) },
	})
}

// cleanUp cancels what is left over. When the session closes it waits for the last callers and tries what is left once
// more.
func (s *session) cleanUp() {
	s.leftovers.Run(s.ctx)
	s.gate.Empty()
	s.awaitAsks()
	by := s.gate.ClosedAt().Add(closeTime)
	if least := time.Now().Add(closeWait); by.Before(least) {
		by = least // callers have taken that long to leave
	}
	s.cancelRest(by)
}

func (s *session) cancelRest(by time.Time) {
	ctx, cancel := context.WithDeadline(context.Background(), by)
	defer cancel()
	s.leftovers.Rest(ctx, closeTime)
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

// sweep deletes old rows now and then.
func (s *session) sweep() {
	var after []byte
	for pace.Sleep(s.ctx, pace.Jitter(2*sweepEvery)) {
		after = s.sweepPage(context.WithoutCancel(s.ctx), after)
	}
}

// doubt remembers that a statement for a lease that somebody has had no answer.
func (s *session) doubt(id, key string, latest int64) {
	if latest != 0 {
		s.leftovers.Doubt(id, key, latest)
	}
}

// abandon has a lease that its caller gave up taken out of the queue and off the lock, in the background. It is tried
// for as long as the lease may last.
func (s *session) abandon(id, key string, patience time.Duration) {
	if s.store.known.Load() == nil {
		return // as long as the server is not known nothing is sent, see ask
	}
	s.leftovers.Abandon(id, key, patience+2*s.cfg.Liveness)
}

// unwanted is called for a lease that has ended at the server.
func (s *session) unwanted(id string) {
	s.drop(id)
	s.leftovers.Unwanted(id)
}

// cancelBatch cancels leases, some at a time.
func (s *session) cancelBatch(ctx context.Context, batch []janitor.Lease[string]) []janitor.Answer {
	answers := make([]janitor.Answer, len(batch))
	workers := make(chan struct{}, janitors)
	for i, l := range batch {
		workers <- struct{}{}
		s.calls.Start(func() {
			defer func() { <-workers }()
			answers[i] = s.cancelSoon(ctx, l.ID, rowName(s.Namespace, l.Key))
		})
	}
	for range cap(workers) {
		workers <- struct{}{}
	}
	return answers
}

// cancelSoon cancels one lease. Where somebody keeps its row locked, or a guarded transaction is open, that takes long:
// then it goes on in the background, also when the session closes, so that other locks' leases do not wait for it.
func (s *session) cancelSoon(ctx context.Context, id string, name []byte) janitor.Answer {
	soon, cancel := context.WithTimeout(ctx, cancelPatience)
	defer cancel()
	answer := make(chan janitor.Answer, 1)
	if s.cancels.begin(soon, string(name)) {
		s.calls.Start(func() {
			ctx, cancel := context.WithTimeout(context.Background(), callTime)
			defer cancel()
			clock, err := s.cancel(ctx, id, name)
			s.cancels.end(string(name))
			answer <- janitor.Answer{Clock: clock, Err: err}
		})
		select {
		case a := <-answer:
			return a
		case <-soon.Done():
		}
	}
	if err := ctx.Err(); err != nil {
		return janitor.Answer{Err: err}
	}
	return janitor.Answer{Later: cancelPatience}
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
		switch at := r.find(id); {
		case at >= 0 && !r.shared():
			return false, *r, r.queue[at].line()
		case at >= 0: // it may have kept others away who have room
			next, _ := r.withoutPlace(at).refresh(now, lives)
			return true, next, ""
		}
		if r.owner == id {
			return true, r.pass(now, lives), ""
		}
		next, held := r.release(id, 0, now, lives)
		return held, next, ""
	})
	return clock, err
}
