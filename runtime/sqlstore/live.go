package sqlstore

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// stalls tells when a server was so slow that processes could not show themselves in time. Then nobody counts as dead
// until they have had the time to.
type stalls struct {
	trying atomic.Pointer[time.Time] // since when the process tries to show itself; nil: it does not
	until  atomic.Pointer[time.Time]
}

// took is called with the beginning of a statement that is over.
func (s *stalls) took(began time.Time, liveness time.Duration) {
	if now := time.Now(); now.Sub(began) > liveness/2 {
		until := now.Add(liveness)
		s.until.Store(&until)
	}
}

// begin and end say that the process tries to show itself, and that it has.
func (s *stalls) begin() {
	now := time.Now()
	s.trying.CompareAndSwap(nil, &now)
}

func (s *stalls) end(liveness time.Duration) {
	if began := s.trying.Swap(nil); began != nil {
		s.took(*began, liveness)
	}
}

func (s *stalls) now(liveness time.Duration) bool {
	if began := s.trying.Load(); began != nil && time.Since(*began) > liveness/2 {
		return true
	}
	until := s.until.Load()
	return until != nil && time.Now().Before(*until)
}

// liveCache knows until when the processes of others count as live, at the least. So it is asked about a process once
// in Liveness, and not at every hand-over.
type liveCache struct {
	mu    sync.Mutex // guards until
	until map[string]int64
}

// maxLives is about how many processes are remembered.
const maxLives = 1000

// livesOf returns which waiters of a row live. Their word in the row counts, and that in the table of sessions. While
// the server has not been up for long, or has just been very slow, everybody lives: nobody could show it. The clock is
// that of the row's answer: no statement waits for a lock between reading the one and the other.
func (s *session) livesOf(ctx context.Context, t *tables, r row, now int64) (liveness, error) {
	known := func(p place) bool { return p.live > now || p.session == s.id || s.live.get(p.session) > now }
	var ask []string
	asked := make(map[string]bool)
	for _, p := range r.queue {
		lives := known(p)
		if lives && p.kind.exclusive() {
			break // nobody behind it is asked for
		}
		if !lives && !asked[p.session] {
			asked[p.session] = true
			ask = append(ask, p.session)
		}
	}
	if len(ask) == 0 {
		return known, nil
	}
	lives, err := t.lives(ctx, s.store.pool, ask)
	if err != nil {
		return nil, err
	}
	excused := s.stalls.now(s.cfg.Liveness) || lives[bootSession] > now-micros(s.cfg.Liveness)
	delete(lives, bootSession)
	s.live.put(lives)
	return func(p place) bool { return excused || known(p) || lives[p.session] > now }, nil
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
