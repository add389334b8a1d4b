package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"time"

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
		pause := time.Hour
		switch {
		case waits:
			pause = s.cfg.Liveness / 3
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
		}
		sent := time.Now()
		s.stalls.begin()
		err := s.beat()
		failing = s.logAlive(failing, err)
		if err != nil {
			if !sleep(s.ctx, jitter(min(s.cfg.Liveness/3, time.Second))) {
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
	ctx, cancel := context.WithTimeout(context.Background(), max(s.cfg.Liveness/3, time.Second))
	defer cancel()
	t, err := s.store.ready(ctx)
	if err != nil {
		return err
	}
	return s.keeping(ctx, func(q querier) error {
		_, err := t.exec(ctx, q, t.beat, args{"session": s.id, "node": s.node, "liveness": micros(s.cfg.Liveness)})
		return err
	})
}

// logAlive logs when the server begins not to hear of this process, and when it does again.
func (s *session) logAlive(failing bool, err error) bool {
	switch {
	case s.ctx.Err() != nil:
	case err != nil && !failing:
		s.Logger.Warn("lock sessions not refreshed; waiters may lose their places", slog.Any("error", s.explain(context.Background(), err)))
	case err == nil && failing:
		s.Logger.Info("lock sessions are refreshed again")
	}
	return err != nil
}

// pollTold asks which leases of this session were broken, if it is time to.
func (s *session) pollTold(ctx context.Context, t *tables) error {
	s.mu.Lock()
	due := len(s.leases) > 0 && time.Since(s.toldAt) >= s.cfg.PollMax
	s.mu.Unlock()
	if !due {
		return nil
	}
	var told string
	err := t.query(ctx, s.store.db, toldSQL, args{"session": s.id}, func(rows *sql.Rows) error { return rows.Scan(&told) })
	s.mu.Lock()
	s.toldAt = time.Now()
	s.mu.Unlock()
	if told != "" {
		s.heedTold(told)
	}
	return err
}

// toldLine says that a lease was broken. It begins with the line break.
func toldLine(id, key, reason string) string {
	return "\n" + id + " " + url.QueryEscape(key) + " " + url.QueryEscape(reason)
}

// heedTold ends the leases that were broken.
func (s *session) heedTold(told string) {
	for line := range strings.SplitSeq(strings.TrimPrefix(told, "\n"), "\n") {
		fields := strings.Split(line, " ")
		if len(fields) != 3 {
			continue
		}
		key, err := url.QueryUnescape(fields[1])
		reason, err2 := url.QueryUnescape(fields[2])
		if err == nil && err2 == nil {
			s.lose(fields[0], key, errors.New(reason), "\n"+line)
		}
	}
}

// lose ends a lease that was broken, and then lets the lock go on. line is what the session was told, "" if it found out
// by itself.
func (s *session) lose(id, key string, reason error, line string) {
	s.mu.Lock()
	_, known := s.losing[id]
	s.losing[id] = time.Now()
	delete(s.leases, id)
	if w := s.waiters[id]; w != nil && !known {
		select {
		case w.lost <- reason:
		default:
		}
	}
	s.mu.Unlock()
	s.calls.start(func() {
		if !known {
			s.Lost(plain(id), reason)
			s.abandon(id, key, 0, brokenPatience)
		}
		if line != "" {
			s.acknowledge(line)
		}
	})
}

// acknowledge deletes a line that was heeded. If that fails, it will be read again, and is known.
func (s *session) acknowledge(line string) {
	ctx, cancel := context.WithTimeout(context.Background(), callTime)
	defer cancel()
	if t, err := s.store.ready(ctx); err == nil {
		_, _ = t.exec(ctx, s.store.db, ackSQL, args{"line": line, "session": s.id})
	}
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
