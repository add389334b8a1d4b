package sqlstore

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/fnv"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"github.com/lockgen/lockgen/internal/pace"
	"github.com/lockgen/lockgen/internal/sqldialect"
)

const (
	// selfRing is after what time a session rings itself again. Each time that it hears itself that becomes four times as
	// much, up to selfRingMost: the server wakes all who listen, whomever a ring is for. selfSilence is how long it may
	// take.
	selfRing     = 30 * time.Second
	selfRingMost = 8 * time.Minute
	selfSilence  = 5 * time.Second
	// deafFor is how long a session that hears nothing of its own ring polls before it tries to listen again.
	deafFor = 10 * time.Minute
	// hearing at the end of a session's name says that it listens. Other sessions are not notified.
	hearing = ".l"
)

// What a ring says besides the hashes of locks to look at.
const (
	ringSelf = "self"
	ringTold = "told" // a lease of the session's was broken, or somebody waits behind one
)

// bell is a session's ear. What it hears is a hint to poll now: a ring that is lost costs time and nothing else.
type bell struct {
	heard atomic.Bool // the last ring to itself was heard: polls may be rare
	echo  chan struct{}
}

// channel is where a session listens. Its name is in the rows that others read, and is the session's alone.
func channel(session string) string { return "lockgen_" + strings.TrimSuffix(session, hearing) }

// hashOf is what a ring calls a lock.
func hashOf(name []byte) string {
	h := fnv.New64a()
	_, _ = h.Write(name)
	return hex.EncodeToString(h.Sum(nil))
}

// listen hears the rings of others, for as long as it hears its own. LISTEN through a pooler in transaction mode
// succeeds, and nothing ever comes.
func (s *session) listen() {
	backoff := time.Duration(0)
	said := false
	for s.ctx.Err() == nil {
		began := time.Now()
		err := s.listenOnce()
		s.deaf()
		if s.ctx.Err() != nil {
			return
		}
		if !said {
			s.Logger.Warn("locks: nothing is heard of LISTEN, the store is polled instead", slog.Any("error", err))
			said = true
		}
		if time.Since(began) > selfRing {
			backoff, said = 0, false
		}
		backoff = min(max(2*backoff, 100*time.Millisecond), time.Minute)
		if errors.Is(err, errDeaf) {
			backoff = deafFor
		}
		if !pace.Sleep(s.ctx, pace.Jitter(backoff)) {
			return
		}
	}
}

var errDeaf = sqldialect.Refusal("the session did not hear its own NOTIFY within %s; a pooler in transaction mode swallows LISTEN: "+
	"give the listener a connection to the server itself", selfSilence)

// listenOnce listens until the connection breaks or the session does not hear itself.
func (s *session) listenOnce() error {
	if err := s.awaitReady(); err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(s.ctx)
	defer cancel(nil)
	up := make(chan struct{}, 1)
	done := make(chan error, 1)
	go func() {
		done <- s.cfg.Listener.Listen(ctx, channel(s.id), func() { pace.Wake(up) }, s.rung)
	}()
	err := s.hearItself(ctx, up, done)
	if err == nil {
		return <-done
	}
	cancel(err)
	if <-done; s.ctx.Err() != nil {
		return s.ctx.Err()
	}
	return err
}

// awaitReady waits for the server to be known.
func (s *session) awaitReady() error {
	ctx, cancel := context.WithTimeout(s.ctx, callTime)
	defer cancel()
	_, err := s.store.ready(ctx)
	return err
}

// hearItself rings the session itself now and then. It returns nil when the listener is done.
func (s *session) hearItself(ctx context.Context, up <-chan struct{}, done chan error) error {
	ended := func(err error) error {
		done <- err
		return nil
	}
	select {
	case <-up:
	case err := <-done:
		return ended(err)
	case <-time.After(2 * selfSilence):
		return errNoAnswer
	case <-ctx.Done():
		return ctx.Err()
	}
	for pause := selfRing; ; pause = min(4*pause, selfRingMost) {
		select {
		case <-s.bell.echo: // of an earlier ring
		default:
		}
		self := &ring{session: s.id, what: ringSelf}
		if err := s.rings.Do(ctx, self); err != nil {
			return err
		}
		if self.err != nil { // that says nothing about what is heard
			return fmt.Errorf("notify: %w", self.err)
		}
		select {
		case <-s.bell.echo:
		case err := <-done:
			return ended(err)
		case <-time.After(selfSilence):
			return errDeaf
		case <-ctx.Done():
			return ctx.Err()
		}
		if !s.bell.heard.Swap(true) {
			s.pollNow(nil) // what was rung before
		}
		select {
		case err := <-done:
			return ended(err)
		case <-time.After(pace.Jitter(pause)):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// seldom is how often a session asks that hears the rings of others. The question is its sign of life as well.
func (s *session) seldom() time.Duration { return s.cfg.Liveness * 3 / 5 }

// toldEvery is how often a session asks which of its leases were broken.
func (s *session) toldEvery() time.Duration {
	if s.bell.heard.Load() {
		return max(s.cfg.Liveness, s.cfg.PollMax)
	}
	return s.cfg.PollMax
}

// pollAndBeat asks about locks. Where one statement can do both, the session shows with it now and then that it lives.
func (s *session) pollAndBeat(ctx context.Context, t *tables, names [][]byte) (
	map[string]rowState, string, clockPair, error,
) {
	now := time.Now()
	alone := func() (map[string]rowState, string, clockPair, error) {
		return t.poll(ctx, s.store.pool, pollSQL, args{"session": s.id}, names)
	}
	if t.Dialect != sqldialect.Postgres || now.Sub(s.lastBeaten()) < s.cfg.Liveness/4 || s.beatsAlone.Load() {
		return alone()
	}
	a := args{"session": s.id, "node": s.node, "liveness": micros(s.cfg.Liveness)}
	var states map[string]rowState
	var told string
	var clock clockPair
	limit, cancel := context.WithTimeout(ctx, s.beatTime())
	defer cancel()
	// A connection of the pool that has been idle for a second is tried first by pgx, which is a round trip more.
	err := s.keeping(limit, func(q querier) (err error) {
		states, told, clock, err = t.poll(limit, q, "WITH h AS ("+t.beat+") "+pollSQL, a, names)
		return err
	})
	switch {
	case err == nil:
		s.beaten.Store(&now)
	case limit.Err() != nil: // it may be that somebody keeps the session's row locked
		s.beatsAlone.Store(true)
		return alone()
	}
	return states, told, clock, err
}

// beatTime bounds a sign of life.
func (s *session) beatTime() time.Duration { return max(s.cfg.Liveness/3, time.Second) }

// lastBeaten is when a poll showed last that the process lives, zero if none did.
func (s *session) lastBeaten() time.Time {
	if at := s.beaten.Load(); at != nil {
		return *at
	}
	return time.Time{}
}

// deaf goes back to polling.
func (s *session) deaf() {
	if s.bell.heard.Swap(false) {
		s.pollNow(nil)
	}
}

// rung is called with what somebody has rung.
func (s *session) rung(payload string) {
	var locks []string
	for what := range strings.SplitSeq(payload, "\n") {
		switch what {
		case ringSelf:
			pace.Wake(s.bell.echo)
		case ringTold:
			s.mu.Lock()
			s.toldAt, s.recallAt = time.Time{}, time.Time{}
			s.mu.Unlock()
			pace.Wake(s.wakePoller)
		default:
			locks = append(locks, what)
		}
	}
	if len(locks) > 0 {
		s.pollNow(locks)
	}
}

// pollNow asks about locks at once, nil: about all that this session waits for.
func (s *session) pollNow(hashes []string) {
	wanted := make(map[string]bool, len(hashes))
	for _, h := range hashes {
		wanted[h] = true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range s.watches {
		if hashes == nil || wanted[w.hash] {
			w.soon = true
			s.pollAt(w, 0)
		}
	}
	for _, w := range s.waiters { // one that does not know yet that it stands in the queue
		if w.watch == nil && (hashes == nil || wanted[hashOf(w.q.name)]) {
			w.say(heard{poke: true})
		}
	}
}
