package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/lockgen/lockgen/internal/pace"
	lockrt "github.com/lockgen/lockgen/runtime"
)

const (
	// keepRow is how often a process that only holds locks shows itself, so that its row, in which it is told of broken
	// leases, is not taken for that of a dead one.
	keepRow = time.Minute
	// oldSession is how long ago a process has shown itself whose row is deleted.
	oldSession = time.Hour
)

// keepAlive shows that this process lives: three times per Config.Liveness while anybody waits, and now and then while
// it holds locks.
func (s *session) keepAlive() {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	var shown time.Time // when the server heard of this process last; zero: never
	failing := false
	for {
		waits, holds := s.needsLife()
		if polled := s.lastBeaten(); polled.After(shown) {
			shown = polled
		}
		pause := time.Hour
		switch {
		case waits:
			pause = s.cfg.Liveness / 3
			if s.bell.heard.Load() {
				pause = s.cfg.Liveness * 3 / 4 // polls do it before, as a rule
			}
		case holds:
			pause = keepRow
		}
		if failing {
			pause = min(pause, max(s.cfg.Liveness/3, 100*time.Millisecond))
		}
		timer.Reset(max(time.Until(shown.Add(pause)), 0))
		if pause == time.Hour {
			timer.Stop()
		}
		select {
		case <-s.ctx.Done():
			return
		case <-s.wakeKeeper:
			if time.Since(shown) < s.cfg.Liveness/3 {
				continue
			}
		case <-timer.C:
			if s.lastBeaten().After(shown) {
				continue // a poll was first
			}
		}
		sent := time.Now()
		s.stalls.begin()
		err := s.beat()
		if err == nil && shown.IsZero() {
			err = s.findBroken()
		}
		failing = s.logAlive(failing, err)
		if err != nil {
			if !pace.Sleep(s.ctx, pace.Jitter(min(s.cfg.Liveness/3, time.Second))) {
				return
			}
			continue
		}
		if waits && !shown.IsZero() && sent.Sub(shown) > s.cfg.Liveness {
			s.askAll()
		}
		if !shown.IsZero() && sent.Sub(shown) > max(s.cfg.Liveness, 2*keepRow) {
			s.recheck()
		}
		s.stalls.end(s.cfg.Liveness)
		shown = sent
	}
}

// needsLife reports whether anybody waits, and whether anything is held. It forgets what is over.
func (s *session) needsLife() (waits, holds bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	for id, h := range s.leases {
		if now.Sub(h.until) > keepRow {
			delete(s.leases, id)
		}
	}
	for id, at := range s.losing {
		if now.Sub(at) > keepRow {
			delete(s.losing, id)
		}
	}
	return len(s.watches) > 0, len(s.leases) > 0
}

func (s *session) beat() error {
	ctx, cancel := context.WithTimeout(context.Background(), s.beatTime())
	defer cancel()
	t, err := s.store.ready(ctx)
	if err != nil {
		return err
	}
	err = s.keeping(ctx, func(q querier) error {
		_, err := t.exec(ctx, q, t.beat, args{"session": s.id, "node": s.node, "liveness": micros(s.cfg.Liveness)})
		return err
	})
	if err == nil {
		s.beatsAlone.Store(false)
	}
	return err
}

// logAlive logs when the server begins not to hear of this process, and when it does again.
func (s *session) logAlive(failing bool, err error) bool {
	switch {
	case s.ctx.Err() != nil:
	case err != nil && !failing:
		s.Logger.Warn("lock sessions not refreshed; waiters may lose their places",
			slog.Any("error", s.explain(context.Background(), err)))
	case err == nil && failing:
		s.Logger.Info("lock sessions are refreshed again")
	}
	return err != nil
}

var errForgotten = errors.New("the server has forgotten it")

// recheck asks about all leases that the Locker believes in, after the server has not heard of this process for so long
// that its row may be gone.
func (s *session) recheck() {
	if s.Held == nil {
		return
	}
	leases := s.Held()
	gone := make(map[string]bool)
	for i, err := range s.Check(s.ctx, leases) {
		if errors.Is(err, lockrt.ErrLost) {
			gone[leases[i].ID] = true
		}
	}
	if len(gone) == 0 {
		return
	}
	for _, still := range s.Held() { // one that was released while the server was asked is not lost
		if gone[still.ID] {
			s.Lost(still.ID, fmt.Errorf("%w", errForgotten))
		}
	}
}
