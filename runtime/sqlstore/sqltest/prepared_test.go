package sqltest

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"path/filepath"
	"sync"
	"testing"

	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/sqlstore"
)

// preparing counts the statements that are prepared, and those of them that are open.
type preparing struct {
	base driver.Driver
	dsn  string

	mu    sync.Mutex // guards what follows
	texts map[string]int
	open  int
}

func (p *preparing) Connect(context.Context) (driver.Conn, error) {
	conn, err := p.base.Open(p.dsn)
	return &preparingConn{conn, p}, err
}

func (p *preparing) Driver() driver.Driver { return p.base }

// made returns how many texts were prepared, the most often that one was, and how many statements are open.
func (p *preparing) made() (texts, most, open int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, n := range p.texts {
		most = max(most, n)
	}
	return len(p.texts), most, p.open
}

type preparingConn struct {
	driver.Conn
	p *preparing
}

func (c *preparingConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	return c.Conn.(driver.ExecerContext).ExecContext(ctx, query, args)
}

func (c *preparingConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	return c.Conn.(driver.QueryerContext).QueryContext(ctx, query, args)
}

func (c *preparingConn) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	st, err := c.Conn.(driver.ConnPrepareContext).PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	c.p.mu.Lock()
	defer c.p.mu.Unlock()
	c.p.texts[query]++
	c.p.open++
	return &preparedStmt{st, c.p}, nil
}

type preparedStmt struct {
	driver.Stmt
	p *preparing
}

func (s *preparedStmt) Close() error {
	s.p.mu.Lock()
	s.p.open--
	s.p.mu.Unlock()
	return s.Stmt.Close()
}

func (s *preparedStmt) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	return s.Stmt.(driver.StmtExecContext).ExecContext(ctx, args)
}

func (s *preparedStmt) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	return s.Stmt.(driver.StmtQueryContext).QueryContext(ctx, args)
}

// preparingPool is a pool of so many connections that counts.
func preparingPool(t *testing.T, conns int) (*sql.DB, *preparing) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "locks.db")
	p := &preparing{dsn: sqliteDSN("sqlite:" + path), texts: map[string]int{}}
	p.base = openSQLite(t, "sqlite:"+path).Driver()
	db := sql.OpenDB(p)
	t.Cleanup(func() { _ = db.Close() })
	db.SetMaxOpenConns(conns)
	db.SetMaxIdleConns(conns)
	return db, p
}

func openLocker(t *testing.T, s *sqlstore.Store) *lockrt.Locker {
	t.Helper()
	l, err := lockrt.New(s, lockrt.Config{Namespace: t.Name()})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func takeTurns(t *testing.T, l *lockrt.Locker, callers, turns int) {
	t.Helper()
	var all sync.WaitGroup
	for i := range callers {
		all.Go(func() {
			for range turns {
				lease, err := l.Acquire(t.Context(), fmt.Sprint("k", i), lockrt.Options{TTL: long, Wait: lockrt.Forever})
				if err == nil {
					err = lease.Release(t.Context())
				}
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
}

// A statement is parsed once for each connection, however often it runs. When the last Locker has closed, none is left
// in a pool that goes on, and a release that comes later still works.
func TestStore_preparedStatements(t *testing.T) {
	t.Parallel()
	for name, conns := range map[string]int{"one connection": 1, "several": 4} {
		t.Run(name, func(t *testing.T) {
			db, seen := preparingPool(t, conns)
			s := sqlstore.New(db, sqlstore.Config{})
			a, b := openLocker(t, s), openLocker(t, s)
			takeTurns(t, a, 1, 20)
			takeTurns(t, b, 40, 5)
			texts, most, open := seen.made()
			if texts == 0 || texts > 64 || most > conns || open == 0 {
				t.Errorf("%d texts are prepared, one of them %d times, on %d connections; %d are open", texts, most, conns, open)
			}
			lease, err := a.Acquire(t.Context(), "late", lockrt.Options{TTL: long})
			if err != nil {
				t.Fatal(err)
			}
			for _, l := range []*lockrt.Locker{a, b} {
				if err := l.Close(context.Background()); err != nil {
					t.Error(err)
				}
			}
			_ = lease.Release(context.Background())
			if _, _, open := seen.made(); open != 0 {
				t.Errorf("%d statements are open after Close", open)
			}
			c := openLocker(t, s)
			takeTurns(t, c, 2, 2)
			if _, _, open := seen.made(); open == 0 {
				t.Error("nothing is prepared for the next Locker")
			}
			if err := c.Close(context.Background()); err != nil {
				t.Error(err)
			}
			if _, _, open := seen.made(); open != 0 {
				t.Errorf("%d statements are open after the last Close", open)
			}
		})
	}
}
