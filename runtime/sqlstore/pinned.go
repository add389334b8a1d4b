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

// minPool is how many connections a pool must allow for one of them to be kept.
const minPool = 4

// keeping runs f on the kept connection, or on another of the pool while that is in use.
func (s *session) keeping(ctx context.Context, f func(querier) error) error {
	p := &s.pinned
	if most := s.store.db.Stats().MaxOpenConnections; most > 0 && most < minPool || !p.mu.TryLock() {
		return f(s.store.db)
	}
	defer p.mu.Unlock()
	if p.closed {
		return f(s.store.db)
	}
	for {
		fresh := p.conn == nil
		if fresh {
			conn, err := s.store.db.Conn(ctx)
			if err != nil {
				return err
			}
			p.conn = conn
		}
		err := f(p.conn)
		if err == nil || !lostConn(err) {
			return err
		}
		_ = p.conn.Close()
		p.conn = nil
		if fresh || ctx.Err() != nil {
			return err
		}
	}
}

func (p *pinned) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	if p.conn != nil {
		_ = p.conn.Close()
		p.conn = nil
	}
}
