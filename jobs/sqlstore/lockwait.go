package sqlstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"
)

// waiting has no statement wait for a lock for longer than wait, a number of seconds, where the database can say so in the
// statement. Otherwise one whose caller has left goes on waiting at the server, with the locks that its transaction has.
func (t *tables) waiting(q querier, wait time.Duration) querier {
	if t.within == "" {
		return q
	}
	return within{q, fmt.Sprintf(t.within, int(wait.Seconds()))}
}

// alone runs a statement that is a transaction by itself, and waits for a lock for no longer than wait.
func (t *tables) alone(ctx context.Context, db *sql.DB, wait time.Duration, f func(querier) error) error {
	if !t.session {
		return f(t.waiting(db, wait))
	}
	conn, leave, err := bounded(ctx, db, wait)
	if err != nil {
		return err
	}
	defer leave()
	return f(conn)
}

// bounded returns a connection whose statements wait for a lock for no longer than wait, a number of seconds. MySQL takes
// that neither in the statement nor for a transaction alone: leave gives the connection back as it was.
func bounded(ctx context.Context, db *sql.DB, wait time.Duration) (conn *sql.Conn, leave func(), err error) {
	text := fmt.Sprintf("SET @lockgen_row_wait = @@innodb_lock_wait_timeout, @lockgen_table_wait = @@lock_wait_timeout, "+
		"innodb_lock_wait_timeout = %[1]d, lock_wait_timeout = %[1]d", int(wait.Seconds()))
	for ended := db.Stats().Idle + 1; ; ended-- { // connections that may have ended while nobody used them
		if conn, err = db.Conn(ctx); err != nil {
			return nil, nil, err
		}
		if err = adjust(ctx, conn, text); err == nil {
			return conn, func() { unbound(ctx, conn) }, nil
		}
		if !errors.Is(err, driver.ErrBadConn) || ended <= 0 {
			return nil, nil, err
		}
	}
}

// unboundTime is how long a connection may take to become as it was.
const unboundTime = time.Second

// unbound gives a connection back as it was, or not at all.
func unbound(ctx context.Context, conn *sql.Conn) {
	ctx, cancel := context.WithTimeout(ctx, unboundTime)
	defer cancel()
	const text = "SET innodb_lock_wait_timeout = @lockgen_row_wait, lock_wait_timeout = @lockgen_table_wait"
	if adjust(ctx, conn, text) == nil {
		_ = conn.Close()
	}
}

// adjust sets variables of a connection. One on which that fails is not used again.
func adjust(ctx context.Context, conn *sql.Conn, text string) error {
	ok := false
	defer func() {
		if !ok { // also if the driver panics, which the scheduler survives
			discard(conn)
		}
	}()
	_, err := conn.ExecContext(ctx, text)
	ok = err == nil
	return err
}

// discard keeps a connection out of its pool.
func discard(conn *sql.Conn) {
	_ = conn.Raw(func(any) error { return driver.ErrBadConn })
	_ = conn.Close()
}

type within struct {
	querier
	prefix string
}

func (w within) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	return w.querier.ExecContext(ctx, w.prefix+query, args...)
}

func (w within) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	return w.querier.QueryContext(ctx, w.prefix+query, args...)
}

// lockedFor is how long a job is remembered to be locked of which nobody has asked since.
const lockedFor = time.Minute

// lockedJobs are the jobs whose rows others keep locked, as far as this process has found. Nobody waits for those again:
// other jobs would be late each time.
type lockedJobs struct {
	mu sync.Mutex
	at map[string]time.Time // when it was found last
}

// among returns those of some jobs that are known to be locked.
func (l *lockedJobs) among(some set) (known set) {
	l.mu.Lock()
	defer l.mu.Unlock()
	maps.DeleteFunc(l.at, func(_ string, at time.Time) bool { return time.Since(at) > lockedFor })
	for job := range l.at {
		if some[job] {
			known.add(job)
		}
	}
	return known
}

// note takes in which jobs a step found locked, and which not.
func (l *lockedJobs) note(n *need) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.at) == 0 && len(n.locked) == 0 {
		return
	}
	if l.at == nil {
		l.at = make(map[string]time.Time)
	}
	for job := range n.jobs {
		if n.locked[job] {
			l.at[job] = time.Now()
		} else {
			delete(l.at, job)
		}
	}
}
