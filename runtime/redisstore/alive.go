package redisstore

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/lockgen/lockgen/internal/pace"
)

const (
	// aliveChunk bounds the queues of one script call.
	aliveChunk = 100
	// aliveTrip bounds the queues of one round trip.
	aliveTrip = 1000
)

// aliveElsewhere is what alive.lua answers for a shared lock: alive_shared.lua has to be asked.
const aliveElsewhere = -2

// asksInTime bounds how long after the end of a lease a waiter asks by itself. It is more than the waiter's jitter and
// a round trip, so that waiters that know the lease are not poked.
const asksInTime = 100 * time.Millisecond

// keepAlive refreshes this process's liveness in every queue it waits in, three times per Config.Liveness, as long as
// anybody waits; and at once when the session was subscribed, as pushes may have been lost before.
func (s *session) keepAlive() {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	var failing bool
	next := time.Time{} // when the next round starts; zero if nobody waits
	for {
		if next.IsZero() {
			timer.Stop()
		} else {
			timer.Reset(time.Until(next))
		}
		select {
		case <-s.ctx.Done():
			return
		case <-s.wakeKeepAlive:
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

// pokeEndless pokes the waiters that have no end of their own. They ask, and give up if the server stays silent.
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
func (s *session) showLife(queues []*queue) error {
	shared, err := s.showLifeBy(aliveScript, queues)
	if len(shared) == 0 {
		return err
	}
	_, sharedErr := s.showLifeBy(aliveSharedScript, shared)
	return cmp.Or(err, sharedErr)
}

// showLifeBy shows life with one of the two scripts. It returns the queues of shared locks, of which the other knows
// more.
func (s *session) showLifeBy(script *script, queues []*queue) (shared []*queue, failed error) {
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
		more, err := s.showLifeTo(script, chunks[:n])
		shared, failed = append(shared, more...), cmp.Or(failed, err)
		chunks = chunks[n:]
	}
	return shared, failed
}

// showLifeTo shows life in one round trip.
func (s *session) showLifeTo(script *script, chunks [][]*queue) (shared []*queue, failed error) {
	all := make([]call, len(chunks))
	for i, queues := range chunks {
		n := len(queues)
		all[i] = call{Keys: make([]string, 3*n, 4*n), Args: []any{s.channel, s.liveness.Milliseconds()}}
		for j, q := range queues {
			all[i].Keys[j], all[i].Keys[n+j], all[i].Keys[2*n+j] = q.keys.queue, q.keys.waiters, q.keys.lock
			if script == aliveSharedScript {
				all[i].Keys = append(all[i].Keys, q.keys.holders())
			}
		}
	}
	ctx, cancel := context.WithTimeout(s.ctx, max(s.liveness/3, time.Second))
	defer cancel()
	sent := time.Now()
	for i, cmd := range s.calls.pipeline(ctx, s.keeping(), script, all) {
		states, err := cmd.Slice()
		if err == nil && len(states) != len(chunks[i]) {
			err = fmt.Errorf("the lock script alive answered %d values for %d queues", len(states), len(chunks[i]))
		}
		if err == nil {
			shared = append(shared, s.shown(chunks[i], states, sent)...)
		}
		failed = cmp.Or(failed, err)
	}
	return shared, failed
}

// shown evaluates the answers. A waiter asks again by itself when the lease in its way should be over. It is poked
// where that is too late:
//   - It owns the lock, or a share of it, and the push that said so was lost.
//   - The server has forgotten the queue, or this process was silent for so long that its waiters may have been passed
//     over. Nobody would wake them.
//   - It knows of a longer lease than the one in its way. The lock was handed on, and the new owner may be dead, and so
//     may the waiter that was told of it.
//
// It returns the queues of shared locks, for which alive.lua cannot answer.
func (s *session) shown(queues []*queue, states []any, sent time.Time) (shared []*queue) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	for i, q := range queues {
		left, ok := states[i].(int64)
		if own, isOwn := states[i].([]any); isOwn && len(own) >= 2 {
			left, ok = own[1].(int64)
			for _, held := range own {
				text, _ := held.(string)
				id, _, _ := splitID(text)
				if w := s.waiters[id]; w != nil {
					pace.Wake(w.pokes)
				}
			}
		}
		switch {
		case !ok:
			continue // not an answer of this script
		case left == aliveElsewhere:
			shared = append(shared, q)
			continue
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
	return shared
}
