package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"net/url"
	"strings"
	"time"
)

// pollTold asks which leases of this session were broken, if it is time to.
func (s *session) pollTold(ctx context.Context, t *tables) error {
	s.mu.Lock()
	due := len(s.leases) > 0 && time.Since(s.toldAt) >= s.toldEvery()
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

// lose ends a lease that was broken, and then lets the lock go on. line is what the session was told, "" if it found
// out by itself.
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
	s.calls.Start(func() {
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
