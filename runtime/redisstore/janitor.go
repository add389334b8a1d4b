package redisstore

import (
	"context"
	"errors"
	"time"

	"github.com/lockgen/lockgen/runtime/internal/janitor"
)

const (
	// cancelBatch bounds the leases that are cancelled in one round trip.
	cancelBatch = 500
	// closeTime bounds Close as a whole.
	closeTime = 5 * time.Second
	// closeWait bounds how long Close waits for the acquires under way, and for each answer of its own.
	closeWait = time.Second
)

func (s *session) newJanitor() *janitor.Janitor[lockKeys] {
	return janitor.New(janitor.Config[lockKeys]{
		Cancel: s.cancelBatch, Most: cancelBatch,
		When:  func(keys lockKeys, micros int64) time.Time { return s.stripe(keys).clock.When(micros) },
		Retry: func(err error) bool { return retryable(err) || errors.Is(err, context.Canceled) },
	})
}

// cleanUp cancels what is left over. When the session closes, it waits for the last callers and tries what is left once
// more. It waits for the acquires that are still under way, which may be granted after their callers have gone. What it
// does not reach until the session has to be closed is left to its TTL.
func (s *session) cleanUp() {
	s.leftovers.Run(s.ctx)
	s.gate.Empty()
	quiet := make(chan struct{})
	s.calls.Start(func() {
		for _, st := range s.stripes {
			st.acquires.Wait()
			st.shared.Wait()
		}
		close(quiet)
	})
	select {
	case <-quiet:
	case <-time.After(closeWait):
	}
	s.cancelRest()
}

// cancelRest cancels what is left until Close gives up.
func (s *session) cancelRest() {
	ctx, cancel := context.WithDeadline(context.WithoutCancel(s.ctx), s.closeBy())
	defer cancel()
	s.leftovers.Rest(ctx, closeWait)
}

// cancelBatch takes leases out of their queues and off their locks.
func (s *session) cancelBatch(ctx context.Context, batch []janitor.Lease[lockKeys]) []janitor.Answer {
	answers := make([]janitor.Answer, len(batch))
	all := make([]int, len(batch))
	for i := range all {
		all[i] = i
	}
	ctx, cancel := bounded(ctx)
	defer cancel()
	s.cancelSome(ctx, batch, answers, s.cancelSome(ctx, batch, answers, all, false), true)
	return answers
}

// cancelSome cancels some leases of a batch in one round trip, and returns those that the scripts for all kinds have to
// cancel. shared is whether these do it.
func (s *session) cancelSome(
	ctx context.Context, batch []janitor.Lease[lockKeys], answers []janitor.Answer, some []int, shared bool,
) (elsewhere []int) {
	calls := make([]call, len(some))
	for n, i := range some {
		l := batch[i]
		calls[n] = call{Keys: l.Key.alone(), Args: []any{l.ID, s.retention.Milliseconds()}}
		if shared || l.Key.kind != "" {
			calls[n].Script, calls[n].Keys = cancelSharedScript, l.Key.all()
			calls[n].Args = append(calls[n].Args, s.waiterID, l.Key.kind)
		}
	}
	for n, cmd := range s.calls.pipeline(ctx, s.client, cancelScript, calls) {
		i := some[n]
		answer, err := ints(cmd, 2)
		if answers[i].Err = err; err != nil {
			continue
		}
		if answers[i].Clock = answer[1]; answer[0] == answerElsewhere {
			elsewhere = append(elsewhere, i)
		}
	}
	return elsewhere
}
