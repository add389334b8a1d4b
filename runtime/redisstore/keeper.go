package redisstore

import (
	"context"
	"errors"
	"log/slog"
	"time"

	lockrt "github.com/lockgen/lockgen/runtime"
)

// keepAlive refreshes this process's liveness in every queue it waits in, three times per Config.Liveness and in one
// round trip, as long as anybody waits.
func (s *session) keepAlive() {
	for {
		select {
		case <-s.ctx.Done():
			return
		case <-s.wakeKeeper:
		}
		for queues := s.queues(); len(queues) > 0; queues = s.queues() {
			if !sleep(s.ctx, s.liveness/3) {
				return
			}
			s.showLife(queues)
		}
	}
}

// queues returns the keys that somebody waits for, each once.
func (s *session) queues() map[string]lockKeys {
	s.mu.Lock()
	defer s.mu.Unlock()
	queues := make(map[string]lockKeys)
	for _, w := range s.waiters {
		if w.queued {
			queues[w.keys.lock] = w.keys
		}
	}
	return queues
}

// showLife also learns what the server says about the wait. If it has forgotten a queue, those who wait in it would get
// nothing from anybody, so they ask again; and so do those that would ask long after the lease in their way is over,
// because they heard of a longer one: whoever it was handed to may be dead, and so may the one who was told.
func (s *session) showLife(queues map[string]lockKeys) {
	locks := make([]string, 0, len(queues))
	calls := make([]call, 0, len(queues))
	for lock, keys := range queues {
		locks = append(locks, lock)
		calls = append(calls, call{
			keys: []string{keys.queue, keys.waiters, keys.lock}, args: []any{s.channel, s.liveness.Milliseconds()},
		})
	}
	ctx, cancel := context.WithTimeout(s.ctx, s.liveness/3)
	defer cancel()
	var errs []error
	for i, cmd := range aliveScript.pipeline(ctx, s.client, calls) {
		remaining, err := cmd.Int64()
		if err != nil {
			errs = append(errs, err)
			continue
		}
		over := time.Now().Add(time.Duration(remaining) * time.Millisecond)
		s.pokeWhere(func(w *waiter) bool {
			return w.keys.lock == locks[i] && (remaining < 0 || w.queued && w.asks.After(over.Add(asksInTime)))
		})
	}
	if len(errs) > 0 && s.ctx.Err() == nil {
		s.Logger.Warn("lock queues not refreshed; waiters may lose their places", slog.Int("queues", len(errs)),
			slog.Any("error", errs[0]))
	}
}

// asksInTime is how long after the end of a lease a waiter may ask without being told to: more than its jitter and a
// round trip, so that those who know of the lease are left alone.
const asksInTime = 100 * time.Millisecond

// abandon has a lease that its caller gave up taken out of the queue and off the lock, in the background: the server
// may have granted it, or may still do so, whatever err, with which the last attempt ended, says. It is tried until the
// lease would be over anyway; and again after it succeeded if that attempt had no answer, because the network may hold
// the request back for longer than the cancel, which takes another connection.
func (s *session) abandon(req lockrt.Request, keys lockKeys, err error) {
	a := abandoned{keys: keys, until: time.Now().Add(req.TTL + 2*s.liveness)}
	if underWay := new(underWayError); errors.As(err, &underWay) {
		a.after = underWay.done
	}
	if errors.As(err, new(unansweredError)) && req.TTL > cancelAgain {
		a.again = cancelAgain
	}
	s.mu.Lock()
	if len(s.abandoned) < maxAbandoned {
		s.abandoned[req.ID] = a
	}
	s.mu.Unlock()
	wake(s.wakeJanitor)
}

const (
	// maxAbandoned bounds what a server that is away for long can make pile up. What is beyond is left to its TTL.
	maxAbandoned = 10_000
	// cancelBatch is how many go into one round trip.
	cancelBatch = 500
	// cancelAgain is when a cancel is repeated whose acquire may come late; then after four times as long each, up to
	// cancelLast.
	cancelAgain = time.Second
	cancelLast  = 16 * time.Second
)

// abandoned is a lease to cancel.
type abandoned struct {
	keys  lockKeys
	until time.Time       // then the server has forgotten it
	after <-chan struct{} // the acquire itself is under way until it is closed, and must not come after the cancel; or nil
	next  time.Time       // not before
	again time.Duration   // how long after a cancel comes the next; 0: never, all requests for the lease were answered
}

// due reports whether the lease can be cancelled now.
func (a abandoned) due(now time.Time) bool {
	if now.Before(a.next) {
		return false
	}
	if a.after == nil {
		return true
	}
	select {
	case <-a.after:
		return true
	default:
		return false
	}
}

// cleanUp cancels abandoned leases. When the session closes, it waits for the last callers and tries what is left once
// more.
func (s *session) cleanUp() {
	backoff := time.Duration(0)
	for {
		retry := time.NewTimer(backoff)
		if backoff == 0 {
			retry.Stop()
		}
		select {
		case <-s.ctx.Done():
			retry.Stop()
			s.acquiring.Wait()
			s.cancelRest()
			return
		case <-s.wakeJanitor:
		case <-retry.C:
		}
		retry.Stop()
		if s.cancelAbandoned(s.ctx) {
			backoff = 0
		} else {
			backoff = jitter(min(max(2*backoff, 100*time.Millisecond), time.Second))
		}
	}
}

// cancelRest cancels everything that is left, once, when nobody acquires any more. It waits for the acquires that are
// still under way, which may be granted after their callers have gone; for a second, the TTL does the rest.
func (s *session) cancelRest() {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.ctx), time.Second)
	defer cancel()
	s.mu.Lock()
	batches := 1 + len(s.abandoned)/cancelBatch
	var underWay []<-chan struct{}
	for _, a := range s.abandoned {
		if a.after != nil {
			underWay = append(underWay, a.after)
		}
	}
	s.mu.Unlock()
	for _, done := range underWay {
		select {
		case <-done:
		case <-ctx.Done():
		}
	}
	for range batches {
		s.cancelAbandoned(ctx)
	}
}

// cancelAbandoned cancels a batch and reports whether nothing is left to do.
func (s *session) cancelAbandoned(ctx context.Context) bool {
	s.mu.Lock()
	ids, calls := make([]string, 0, len(s.abandoned)), make([]call, 0, len(s.abandoned))
	now, done := time.Now(), true
	for id, a := range s.abandoned {
		if now.After(a.until) {
			delete(s.abandoned, id)
			continue
		}
		if len(ids) == cancelBatch || !a.due(now) {
			done = false
			continue
		}
		ids = append(ids, id)
		calls = append(calls, call{keys: a.keys.all(), args: []any{id, s.retention.Milliseconds()}})
	}
	s.mu.Unlock()
	if len(calls) == 0 {
		return done
	}
	for i, cmd := range cancelScript.pipeline(ctx, s.client, calls) {
		if err := cmd.Err(); err != nil && (retryable(err) || errors.Is(err, context.Canceled)) {
			done = false
			continue
		}
		if s.cancelled(ids[i]) {
			done = false
		}
	}
	return done
}

// cancelled reports whether a lease that was cancelled is to be cancelled again.
func (s *session) cancelled(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.abandoned[id]
	if a.again == 0 || a.again > cancelLast {
		delete(s.abandoned, id)
		return false
	}
	a.next = time.Now().Add(a.again)
	a.until = a.next.Add(a.again) // it is tried then, however short the lease was
	a.again *= 4
	s.abandoned[id] = a
	return true
}
