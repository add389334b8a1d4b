package sqltest

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
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

func (c *holdbackConn) PrepareContext(_ context.Context, query string) (driver.Stmt, error) {
	return textStmt{c, query}, nil
}

func (c *holdbackConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	return c.Conn.(driver.QueryerContext).QueryContext(ctx, query, args)
}

func (c *holdbackConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	var err error
	if strings.Contains(query, "INTO") && strings.Contains(query, "lockgen_lock") {
		c.h.once.Do(func() {
			c.h.query = query
			for _, arg := range args {
				c.h.args = append(c.h.args, arg.Value)
			}
			err = context.DeadlineExceeded // a limit of the driver's own
		})
	}
	if err != nil {
		return nil, err
	}
	return c.Conn.(driver.ExecerContext).ExecContext(ctx, query, args)
}

// A caller that does not wait hears at the second attempt that the lock is busy. The first arrives after the holder has
// left: it takes the lock, and is followed by a cancel.
func TestStore_requestThatComesAfterBusy(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "locks.db")
	near := &engine{name: "sqlite", db: openSQLite(t, "sqlite:"+path), url: "sqlite:" + path}
	holder, _ := near.session(t, "holder")
	take(t, holder, "k", "holder", long)
	late := &holdback{base: near.db.Driver(), dsn: "file:" + path + "?_pragma=busy_timeout(5000)"}
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
	result, err := near.db.Exec(late.query, late.args...)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := result.RowsAffected(); err != nil || n != 1 {
		t.Fatalf("the first attempt has not taken the lock: %v", err) // if the machine slept for seconds, it was late
	}
	testsync.Eventually(t, "the ghost is gone", func() bool {
		owner, _ := near.row(t, "k")
		return owner != "late"
	})
}

// onReads calls meet before each statement that reads the row of lock k, and notes what is written.
type onReads struct {
	base  driver.Driver
	dsn   string
	meet  func()
	mu    sync.Mutex // guards wrote
	wrote []string
}

func (o *onReads) Connect(context.Context) (driver.Conn, error) {
	conn, err := o.base.Open(o.dsn)
	return &onReadsConn{conn, o}, err
}

func (o *onReads) Driver() driver.Driver { return o.base }

type onReadsConn struct {
	driver.Conn
	o *onReads
}

func (c *onReadsConn) PrepareContext(_ context.Context, query string) (driver.Stmt, error) {
	return textStmt{c, query}, nil
}

func (c *onReadsConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	result, err := c.Conn.(driver.ExecerContext).ExecContext(ctx, query, args)
	if err != nil {
		return nil, err
	}
	if n, err := result.RowsAffected(); err != nil || n == 0 {
		return result, err
	}
	c.o.mu.Lock()
	defer c.o.mu.Unlock()
	for _, arg := range args {
		c.o.wrote = append(c.o.wrote, fmt.Sprintf("%s", arg.Value)) // text or bytes
	}
	return result, nil
}

func (c *onReadsConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	ofK := func(a driver.NamedValue) bool { return strings.HasSuffix(fmt.Sprintf("%s", a.Value), "\x00k") }
	if strings.HasPrefix(query, "SELECT name, lock_key") && slices.ContainsFunc(args, ofK) {
		c.o.meet()
	}
	return c.Conn.(driver.QueryerContext).QueryContext(ctx, query, args)
}

// A caller leaves while its question reads the row of a lock that is held. The question then writes nothing: a place in
// the queue would have to be taken back, and is in the way of others until it is.
func TestStore_callerLeavesBeforeItsPlaceIsWritten(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "locks.db")
	near := &engine{name: "sqlite", db: openSQLite(t, "sqlite:"+path), url: "sqlite:" + path}
	holder, _ := near.session(t, "holder")
	take(t, holder, "k", "holder", long)
	ctx, leave := context.WithCancel(t.Context())
	hasLeft := make(chan struct{})
	read := sync.OnceFunc(func() { leave(); <-hasLeft })
	seen := &onReads{base: near.db.Driver(), dsn: "file:" + path + "?_pragma=busy_timeout(5000)", meet: read}
	far := *near
	far.db = sql.OpenDB(seen)
	t.Cleanup(func() { _ = far.db.Close() })
	s, _ := far.session(t, "far")
	_, err := s.Acquire(ctx, lockrt.Request{Key: "k", ID: "ghost", TTL: long, Wait: lockrt.Forever})
	close(hasLeft)
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("the acquire ended with %v, want context.Canceled", err)
	}
	closeSession(t, s) // when its last question has ended
	seen.mu.Lock()
	defer seen.mu.Unlock()
	for _, value := range seen.wrote {
		if strings.Contains(value, "ghost") {
			t.Errorf("was written for a caller that had left: %q", value)
		}
	}
}
