package redisstore

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/lockgen/lockgen/internal/pace"
)

const (
	// aliveChunk is how many queues one script works on, aliveTrip how many go into one round trip.
	aliveChunk = 100
	aliveTrip  = 1000
)

// asksInTime is how long after the end of a lease a waiter may ask without being told to: more than its jitter and a
// round trip, so that those who know of the lease are left alone.
const asksInTime = 100 * time.Millisecond

// keepAlive refreshes this process's liveness in every queue it waits in, three times per Config.Liveness, as long as
// anybody waits; and at once when the session was subscribed, as pushes may have been lost before.
func (s *session) keepAlive() {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	var failing bool
	next := time.Time{} // of the next round; zero: nobody waits
	for {
		if next.IsZero() {
			timer.Stop()
		} else {
			timer.Reset(time.Until(next))
		}
		select {
		case <-s.ctx.Done():
			return
		case <-s.wakeKeeper:
			if next.IsZero() {
				next = time.Now().Add(s.liveness / 3)
			}
			continue
		case <-s.subscribed:
		case <-timer.C:
		}
		queues := s.waitedFor()
		if next = time.Now().Add(s.liveness / 3); len(queues) == 0 {
			next = time.Time{}
			continue
		}
		failing = s.logAlive(failing, len(queues), s.showLife(queues))
	}
}

// waitedFor returns the queues that somebody stands in.
func (s *session) waitedFor() []*queue {
	s.mu.Lock()
	defer s.mu.Unlock()
	queues := make([]*queue, 0, len(s.queues))
	for _, q := range s.queues {
		queues = append(queues, q)
	}
	return queues
}

// logAlive logs when refreshing begins to fail, and when it works again.
func (s *session) logAlive(failing bool, queues int, err error) bool {
	switch {
	case s.ctx.Err() != nil:
	case err != nil && !failing:
		s.pokeEndless()
		s.Logger.Warn("lock queues not refreshed; waiters may lose their places", slog.Int("queues", queues),
			slog.Any("error", err))
	case err == nil && failing:
		s.Logger.Info("lock queues are refreshed again", slog.Int("queues", queues))
	}
	return err != nil
}

// pokeEndless lets those ask who wait without any end: they give up if the server stays silent.
func (s *session) pokeEndless() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range s.waiters {
		if w.endless {
			pace.Wake(w.pokes)
		}
	}
}

// showLife shows life in all queues and returns the first error.
func (s *session) showLife(queues []*queue) (failed error) {
	chunks := group(queues, aliveChunk, func(q *queue) int {
		if !s.clustered {
			return 0
		}
		return slotOfKey(q.keys.lock)
	})
	for len(chunks) > 0 && s.ctx.Err() == nil {
		n, size := 0, 0
		for ; n < len(chunks) && size < aliveTrip; n++ {
			size += len(chunks[n])
		}
		if err := s.showLifeTo(chunks[:n]); err != nil && failed == nil {
			failed = err
		}
		chunks = chunks[n:]
	}
	return failed
}

// showLifeTo shows life in one round trip.
func (s *session) showLifeTo(chunks [][]*queue) (failed error) {
	all := make([]call, len(chunks))
	for i, queues := range chunks {
		n := len(queues)
		all[i] = call{Keys: make([]string, 3*n), Args: []any{s.channel, s.liveness.Milliseconds()}}
		for j, q := range queues {
			all[i].Keys[j], all[i].Keys[n+j], all[i].Keys[2*n+j] = q.keys.queue, q.keys.waiters, q.keys.lock
		}
	}
	ctx, cancel := context.WithTimeout(s.ctx, max(s.liveness/3, time.Second))
	defer cancel()
	sent := time.Now()
	for i, cmd := range s.calls.pipeline(ctx, s.keeping(), aliveScript, all) {
		states, err := cmd.Slice()
		if err == nil && len(states) != len(chunks[i]) {
			err = fmt.Errorf("the lock script alive answered %d values for %d queues", len(states), len(chunks[i]))
		}
		if err == nil {
			s.shown(chunks[i], states, sent)
		} else if failed == nil {
			failed = err
		}
	}
	return failed
}

// shown takes the answers. Those who wait ask again by themselves when the lease in their way should be over. They are
// told to where that is not enough:
//   - one owns the lock, and the push that said so was lost;
//   - the server has forgotten the queue, or this process was silent for so long that it may have been passed over:
//     nobody would wake them;
//   - they heard of a longer lease than the one that is in their way: whoever it was handed to may be dead, and so may
//     the one who was told.
func (s *session) shown(queues []*queue, states []any, sent time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	for i, q := range queues {
		left, ok := states[i].(int64)
		if own, isOwn := states[i].([]any); isOwn && len(own) == 2 {
			left, ok = own[1].(int64)
			if id, _ := own[0].(string); s.waiters[id] != nil {
				pace.Wake(s.waiters[id].pokes)
			}
		}
		if !ok {
			continue // nothing of ours
		}
		latest := now.Add(time.Duration(left)*time.Millisecond + asksInTime)
		passedOver := sent.Sub(q.shown) > s.liveness
		for _, w := range q.waiters {
			if left < 0 || passedOver || w.asks.After(latest) {
				pace.Wake(w.pokes)
			}
		}
		if sent.After(q.shown) {
			q.shown = sent
		}
	}
}
