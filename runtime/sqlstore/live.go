package sqlstore

import (
	"context"
	"sync"
)

// liveCache knows until when the processes of others count as live, at the least. So it is asked about a process once in
// Liveness, and not at every hand-over.
type liveCache struct {
	mu    sync.Mutex // guards until
	until map[string]int64
}

// maxLives is about how many processes are remembered.
const maxLives = 1000

// livesOf returns which waiters of a row live. Their word in the row counts, and that in the table of sessions. While
// the server has not been up for long, everybody lives: nobody could show it. The clock is that of the row's answer: no statement waits for a lock
// between reading the one and the other.
func (s *session) livesOf(ctx context.Context, t *tables, r row, now int64) (liveness, error) {
	known := func(p place) bool { return p.live > now || p.session == s.id || s.live.get(p.session) > now }
	var ask []string
	asked := make(map[string]bool)
	for _, p := range r.queue {
		if known(p) {
			break // nobody behind it is asked for
		}
		if !asked[p.session] {
			asked[p.session] = true
			ask = append(ask, p.session)
		}
	}
	if len(ask) == 0 {
		return known, nil
	}
	lives, err := t.lives(ctx, s.store.db, ask)
	if err != nil {
		return nil, err
	}
	booting := lives[bootSession] > now-micros(s.cfg.Liveness)
	delete(lives, bootSession)
	s.live.put(lives)
	return func(p place) bool { return booting || known(p) || lives[p.session] > now }, nil
}

func (c *liveCache) get(session string) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.until[session]
}

func (c *liveCache) put(lives map[string]int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.until == nil || len(c.until) > maxLives {
		c.until = make(map[string]int64, len(lives))
	}
	for session, until := range lives {
		c.until[session] = max(c.until[session], until)
	}
}
