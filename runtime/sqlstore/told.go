package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/lockgen/lockgen/internal/sqldialect"
)

// pollTold asks which leases of this session were broken, if it is time to.
func (s *session) pollTold(ctx context.Context, t *tables) error {
	s.mu.Lock()
	due := len(s.leases) > 0 && time.Since(s.toldAt) >= s.toldEvery()
	s.mu.Unlock()
	if !due {
		return nil
	}
	s.asksTold()
	var told string
	err := t.query(ctx, s.store.pool, toldSQL, args{"session": s.id}, func(rows *sql.Rows) error { return rows.Scan(&told) })
	if err != nil {
		s.askToldSoon()
	}
	if told != "" {
		s.heedTold(told)
	}
	return err
}

// asksTold is called before the session's own row is read: what is rung while that is under way is asked for once more.
func (s *session) asksTold() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.toldAt = time.Now()
}

// askToldSoon has the session's own row read by the next poll.
func (s *session) askToldSoon() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.toldAt = time.Time{}
}

// findBroken ends the leases that were broken before the session first showed itself. MySQL changes no row of a session
// that is not there yet, so that nobody is told then.
func (s *session) findBroken() error {
	ctx, cancel := context.WithTimeout(context.Background(), callTime)
	defer cancel()
	t, err := s.store.ready(ctx)
	if err != nil || t.Dialect != sqldialect.MySQL {
		return err
	}
	s.mu.Lock()
	keys, names := make(map[string]string, len(s.leases)), make([][]byte, 0, len(s.leases))
	for id, h := range s.leases {
		keys[id], names = h.key, append(names, rowName(s.Namespace, h.key))
	}
	s.mu.Unlock()
	for chunk := range slices.Chunk(names, pollBatch) {
		rows, _, err := t.read(ctx, s.store.pool, chunk...)
		if err != nil {
			return err
		}
		for _, r := range rows {
			if key, mine := keys[r.owner]; mine && r.broken != "" {
				s.lose(r.owner, key, errors.New(r.broken), "")
			}
			for _, h := range r.holders {
				if key, mine := keys[h.id]; mine && h.broken != "" {
					s.lose(h.id, key, errors.New(h.broken), "")
				}
			}
		}
	}
	return nil
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
	if _, heeded := s.heeded[line]; known && (heeded || line == "") {
		s.mu.Unlock()
		return
	}
	s.losing[id] = time.Now()
	delete(s.leases, id)
	if w := s.waiters[id]; w != nil && !known {
		select {
		case w.lost <- reason:
		default:
		}
	}
	s.mu.Unlock()
	s.telling.Start(func() {
		if !known {
			s.Lost(plain(id), reason)
			s.abandon(id, key, brokenPatience)
		}
		if line != "" {
			s.acknowledge(line)
		}
	})
}

// acknowledge deletes a line that was heeded. If that fails, it will be read again, and is known. One goroutine deletes
// the lines of all: they are in the session's row, for which whoever tells it of another one would wait behind them.
func (s *session) acknowledge(line string) {
	s.mu.Lock()
	_, known := s.heeded[line]
	s.heeded[line] = struct{}{}
	others := len(s.heeded) > 1
	s.mu.Unlock()
	for ok := !known && !others; ok; line, ok = s.nextHeeded(line) {
		s.deleteTold(line)
	}
}

// nextHeeded returns another line to delete when one is deleted.
func (s *session) nextHeeded(deleted string) (line string, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.heeded, deleted)
	for line := range s.heeded {
		return line, true
	}
	return "", false
}

func (s *session) deleteTold(line string) {
	ctx, cancel := context.WithTimeout(context.Background(), callTime)
	defer cancel()
	if t, err := s.store.ready(ctx); err == nil {
		_, _ = t.exec(ctx, s.store.pool, ackSQL, args{"line": line, "session": s.id})
	}
}
