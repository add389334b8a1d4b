package sqlstore

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/lockgen/lockgen/internal/pace"
)

// poll asks about all locks that this session waits for, and whether a lease was broken.
func (s *session) poll() {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	backoff := time.Duration(0)
	for {
		timer.Reset(max(s.pollPause(), backoff))
		select {
		case <-s.ctx.Done():
			return
		case <-s.wakePoller:
			if backoff > 0 && !pace.Sleep(s.ctx, backoff) {
				return
			}
		case <-timer.C:
		}
		switch err := s.pollDue(); {
		case err == nil:
			backoff = 0
		default:
			backoff = pace.Jitter(min(max(2*backoff, 50*time.Millisecond), time.Second))
		}
	}
}

// pollPause is how long there is nothing to ask.
func (s *session) pollPause() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	pause := time.Hour
	if s.polls.Len() > 0 {
		_, at := s.polls.First()
		pause = time.Until(at)
	}
	if len(s.leases) > 0 {
		pause = min(pause, time.Until(s.toldAt.Add(s.toldEvery())))
	}
	return max(pause, 0)
}

// pollBatch is how many locks one statement asks about at the most.
const pollBatch = 1000

// takeWatches returns the locks to ask about. Those that are due soon are asked about along with those that are, so
// that there is one statement for all.
func (s *session) takeWatches() []*watch {
	s.mu.Lock()
	defer s.mu.Unlock()
	now, ahead := time.Now(), s.cfg.PollMax/2
	if s.bell.heard.Load() {
		ahead = s.seldom() * 3 / 4
	}
	var due []*watch
	for soon := now; len(due) < pollBatch; soon = now.Add(ahead) {
		w, ok := s.polls.TakeDue(soon)
		if !ok {
			break
		}
		w.soon = false
		due = append(due, w)
	}
	return due
}

// pollDue asks once.
func (s *session) pollDue() error {
	// Not the session's context: a statement that is cancelled costs its connection.
	ctx, cancel := context.WithTimeout(context.Background(), callTime)
	defer cancel()
	t, err := s.store.ready(ctx)
	due := s.takeWatches()
	if len(due) == 0 {
		if err != nil {
			return err
		}
		return errors.Join(s.pollTold(ctx, t), s.recall(ctx, t))
	}
	var states map[string]rowState
	var told string
	var clock clockPair
	if err == nil {
		names := make([][]byte, len(due))
		for i, w := range due {
			names[i] = w.name
		}
		s.asksTold()
		if states, told, clock, err = s.pollAndBeat(ctx, t, names); err != nil || len(states) == 0 {
			s.askToldSoon() // nothing was read
		}
	}
	s.mu.Lock()
	for _, w := range due {
		if len(w.waiters) == 0 {
			continue // they have all left meanwhile
		}
		if err != nil {
			s.pollFailed(w, s.explain(context.Background(), err))
		} else {
			s.polled(w, states, clock)
		}
	}
	s.mu.Unlock()
	if err == nil && told != "" {
		s.heedTold(told)
	}
	if err == nil {
		err = errors.Join(s.makeSure(ctx, t), s.recall(ctx, t))
	}
	return err
}

// sureEvery is how often a session makes sure that its waiters stand in their queues.
const sureEvery = 20 * time.Second

// makeSure reads the queues now and then, which polls leave out, and lets those waiters ask who do not stand in theirs.
func (s *session) makeSure(ctx context.Context, t *tables) error {
	s.mu.Lock()
	if time.Since(s.sureAt) < sureEvery {
		s.mu.Unlock()
		return nil
	}
	s.sureAt = time.Now().Add(pace.Jitter(sureEvery / 2))
	var names [][]byte
	for _, w := range s.watches {
		names = append(names, w.name)
	}
	s.mu.Unlock()
	for chunk := range slices.Chunk(names, pollBatch) {
		rows, _, err := t.read(ctx, s.store.pool, chunk...)
		if err != nil {
			return err
		}
		s.mu.Lock()
		for _, name := range chunk {
			w, r := s.watches[string(name)], rows[string(name)]
			if w == nil {
				continue
			}
			for _, waiter := range w.waiters {
				if id := waiter.q.id; r.owner != id && r.find(id) < 0 && r.holder(id, 0) < 0 {
					waiter.say(heard{poke: true})
				}
			}
		}
		s.mu.Unlock()
	}
	return nil
}

// pollFailed lets the waiters know that the server cannot be asked; mu is held.
func (s *session) pollFailed(w *watch, err error) {
	w.unheard = true
	for _, waiter := range w.waiters {
		waiter.say(heard{err: err})
	}
	s.pollAt(w, s.cfg.PollMax)
}

// polled takes what a poll says of a lock; mu is held.
func (s *session) polled(w *watch, states map[string]rowState, clock clockPair) {
	state, there := states[string(w.name)]
	if !there { // an administrator has emptied the table
		for _, waiter := range w.waiters {
			waiter.say(heard{poke: true})
		}
		s.pollAt(w, s.cfg.PollMax)
		return
	}
	was := w.state
	if grants := state.turns - was.turns; grants > 0 && was.turns > 0 {
		w.hold = (w.hold + fromMicros(max(state.since-was.since, 0))/time.Duration(grants)) / 2
	}
	now := clock.Micros
	r, err := state.row()
	if err != nil {
		s.pollFailed(w, err)
		return
	}
	if r.roomAt(now) <= now || r.permitOver(now) {
		w.over++
		w.waiters[0].say(heard{poke: true})
		w.state = state
		s.pollAt(w, min(s.cfg.PollMin<<min(w.over, 10), s.cfg.PollMax))
		return
	}
	for _, waiter := range w.waiters {
		a := answer{
			outcome: busy, epoch: uint64(r.epoch), since: r.since, until: r.roomAt(now), holder: r.holderNode(now), clock: clock,
		}
		out, has := r.stateOf(waiter.q.id, now)
		switch at := r.holder(waiter.q.id, now); {
		case has && r.shared():
			h := r.holders[at]
			a.outcome, a.epoch, a.since, a.until, a.slot = out, uint64(h.epoch), h.since, h.until, h.slot
		case has:
			a.outcome = out
		case state == was && !w.unheard:
			continue // nothing that it does not know
		case r.shared():
			a.holders = r.together(now)
		}
		waiter.say(heard{answer: a})
	}
	if r.shared() && time.Since(w.looked) > s.cfg.Liveness { // behind one that is dead, somebody may have room
		w.looked = time.Now()
		w.waiters[0].say(heard{poke: true})
	}
	w.over, w.unheard, w.state = 0, false, state
	s.pollAt(w, s.interval(w, r.turns, fromMicros(now-r.since), fromMicros(r.roomAt(now)-now)))
}

// askAll lets everybody who waits ask: the process was silent for so long that it may have been passed over.
func (s *session) askAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range s.waiters {
		w.say(heard{poke: true})
	}
}
