package sqltest

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/lockgen/lockgen/internal/testsync"
	lockrt "github.com/lockgen/lockgen/runtime"
)

// holdback holds the first statement that takes a lock back, as a network does: its connection breaks, and the
// statement arrives when the test says so.
type holdback struct {
	base driver.Driver
	dsn  string
	once sync.Once
	meet func() // runs when the statement is held back

	query string
	args  []any
}

func (h *holdback) Connect(context.Context) (driver.Conn, error) {
	conn, err := h.base.Open(h.dsn)
	return &holdbackConn{conn, h}, err
}

func (h *holdback) Driver() driver.Driver { return h.base }

type holdbackConn struct {
	driver.Conn
	h *holdback
}

func (c *holdbackConn) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	return c.Conn.(driver.ConnBeginTx).BeginTx(ctx, opts)
}

func (c *holdbackConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	return c.Conn.(driver.ExecerContext).ExecContext(ctx, query, args)
}

func (c *holdbackConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	var err error
	if strings.Contains(query, "INTO") && strings.Contains(query, "lockgen_lock") {
		c.h.once.Do(func() {
			c.h.query = query
			for _, arg := range args {
				c.h.args = append(c.h.args, arg.Value)
			}
			c.h.meet()
			err = context.DeadlineExceeded // a limit of the driver's own
		})
	}
	if err != nil {
		return nil, err
	}
	return c.Conn.(driver.QueryerContext).QueryContext(ctx, query, args)
}

// A caller that does not wait hears at the second attempt that the lock is busy. The first arrives after the holder has
// left: it takes the lock, and is followed by a cancel.
func TestStore_requestThatComesAfterBusy(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "locks.db")
	near := &engine{name: "sqlite", db: openSQLite(t, "sqlite:"+path), url: "sqlite:" + path}
	holder, _ := near.session(t, "holder")
	late := &holdback{
		base: near.db.Driver(), dsn: "file:" + path + "?_pragma=busy_timeout(5000)",
		meet: func() { take(t, holder, "k", "holder", long) },
	}
	far := *near
	far.db = sql.OpenDB(late)
	t.Cleanup(func() { _ = far.db.Close() })
	s, _ := far.session(t, "late")
	if _, err := s.Acquire(t.Context(), lockrt.Request{Key: "k", ID: "late", TTL: long}); !errors.Is(err, lockrt.ErrBusy) {
		t.Fatalf("the acquire ended with %v, want ErrBusy", err)
	}
	if err := holder.Release(t.Context(), lockrt.Release{Key: "k", ID: "holder"}); err != nil {
		t.Fatal(err)
	}
	var epoch, since int64
	if err := near.db.QueryRow(late.query, late.args...).Scan(&epoch, &since); err != nil {
		t.Fatalf("the first attempt has not taken the lock: %v", err) // if the machine slept for seconds, it was late
	}
	testsync.Eventually(t, "the ghost is gone", func() bool {
		owner, _ := near.row(t, "k")
		return owner != "late"
	})
}
