package sqltest

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/lockgen/lockgen/internal/testsync"
	lockrt "github.com/lockgen/lockgen/runtime"
)

// standstill is a driver on which the process stands still once, before a statement that has a text in it, until the time
// of the call is over.
type standstill struct {
	base driver.Driver
	dsn  string
	at   string
	once sync.Once
}

func (d *standstill) Connect(context.Context) (driver.Conn, error) {
	conn, err := d.base.Open(d.dsn)
	return &standstillConn{conn, d}, err
}

func (d *standstill) Driver() driver.Driver { return d.base }

type standstillConn struct {
	driver.Conn
	d *standstill
}

func (c *standstillConn) PrepareContext(_ context.Context, query string) (driver.Stmt, error) {
	return textStmt{c, query}, nil
}

func (c *standstillConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	if strings.Contains(query, c.d.at) {
		c.d.once.Do(func() { <-ctx.Done() })
	}
	return c.Conn.(driver.ExecerContext).ExecContext(ctx, query, args)
}

func (c *standstillConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	return c.Conn.(driver.QueryerContext).QueryContext(ctx, query, args)
}

// A process stands still in the middle of a break, for longer than that may take. When it goes on nothing is broken, and
// others can write to the file.
func TestSQLite_breakStandsStill(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "locks.db")
	near := &engine{name: "sqlite", db: openSQLite(t, "sqlite:"+path), url: "sqlite:" + path}
	holder, _ := near.session(t, "holder")
	held := take(t, holder, "k", "holder", long)
	far := *near
	far.db = sql.OpenDB(&standstill{base: near.db.Driver(), dsn: sqliteDSN("sqlite:" + path), at: "excluded.told"})
	t.Cleanup(func() { _ = far.db.Close() })
	s, _ := far.session(t, "far")
	b := lockrt.Breaking{Key: "k", ID: "holder", Fence: lockrt.FenceOf(held.Epoch), Reason: "test"}
	if err := s.(lockrt.Breaker).Break(t.Context(), b); err == nil {
		t.Error("the break took longer than it may, and succeeded")
	}
	testsync.Eventually(t, "somebody else can write", func() bool {
		_, err := holder.Acquire(t.Context(), lockrt.Request{Key: "other", ID: "other", TTL: long})
		return err == nil
	})
	if err := holder.(lockrt.Checker).Check(t.Context(), []lockrt.HeldLease{{Key: "k", ID: "holder"}})[0]; err != nil {
		t.Errorf("the lease that was not broken: %v", err)
	}
}
