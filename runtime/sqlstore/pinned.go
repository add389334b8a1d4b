package sqlstore

import (
	"context"
	"database/sql"
	"sync"
)

// pinned is the connection that a session keeps for what keeps leases, so that it does not wait for one behind work
// that takes all.
type pinned struct {
	mu     sync.Mutex
	conn   *sql.Conn
	closed bool
}

// keeping runs f on the kept connection, or on another of the pool while that is in use or none may be kept.
func (s *session) keeping(ctx context.Context, f func(querier) error) error {
	p := &s.pinned
	if !p.mu.TryLock() {
		return f(s.store.pool)
	}
	defer p.mu.Unlock()
	for {
		fresh := p.conn == nil
		if fresh {
			if p.closed || !pins.take(s.store.db) {
				return f(s.store.pool)
			}
			conn, err := s.store.db.Conn(ctx)
			if err != nil {
				pins.give(s.store.db)
				return err
			}
			p.conn = conn
		}
		err := f(p.conn)
		if err == nil || !lostConn(err) {
			return err
		}
		p.drop(s.store.db)
		if fresh || ctx.Err() != nil {
			return err
		}
	}
}

// drop gives the connection up. Callers hold p.mu.
func (p *pinned) drop(db *sql.DB) {
	if p.conn != nil {
		_ = p.conn.Close()
		p.conn = nil
		pins.give(db)
	}
}

func (p *pinned) close(db *sql.DB) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	p.drop(db)
}

// minPool is how many connections a pool must allow for one of them to be kept.
const minPool = 4

// pins counts the connections that are kept, by pool. Lockers share a pool without knowing of each other, and if each
// kept one, a small pool would have none left to work with.
var pins = pinCount{of: map[*sql.DB]int{}}

type pinCount struct {
	mu sync.Mutex
	of map[*sql.DB]int
}

// take reports whether one more connection of a pool may be kept: half of a pool is for everybody. [pinCount.give] ends it.
func (c *pinCount) take(db *sql.DB) bool {
	most := db.Stats().MaxOpenConnections
	c.mu.Lock()
	defer c.mu.Unlock()
	if most > 0 && (most < minPool || c.of[db] >= most/2) {
		return false
	}
	c.of[db]++
	return true
}

func (c *pinCount) give(db *sql.DB) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.of[db]--; c.of[db] == 0 {
		delete(c.of, db)
	}
}
