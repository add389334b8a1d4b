package sqltest

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/lockgen/lockgen/jobs"
	"github.com/lockgen/lockgen/jobs/sqlstore"
)

// lateEnd ends the context of a call in the moment in which the statement that begins with a word has run: SQLite's
// driver says then that the context is over, and not that the statement is done.
type lateEnd struct {
	base driver.Driver
	dsn  string
	word string
	end  atomic.Pointer[context.CancelFunc] // nil: it does not
}

func (l *lateEnd) Connect(context.Context) (driver.Conn, error) {
	conn, err := l.base.Open(l.dsn)
	return &lateEndConn{conn, l}, err
}

func (l *lateEnd) Driver() driver.Driver { return l.base }

type lateEndConn struct {
	driver.Conn
	l *lateEnd
}

func (c *lateEndConn) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	return c.Conn.(driver.ConnBeginTx).BeginTx(ctx, opts)
}

func (c *lateEndConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	return c.Conn.(driver.QueryerContext).QueryContext(ctx, query, args)
}

func (c *lateEndConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	end := c.l.end.Load()
	if end == nil || !strings.HasPrefix(query, c.l.word) {
		return c.Conn.(driver.ExecerContext).ExecContext(ctx, query, args)
	}
	result, err := c.Conn.(driver.ExecerContext).ExecContext(context.WithoutCancel(ctx), query, args)
	if (*end)(); err == nil {
		err = ctx.Err()
	}
	return result, err
}

// A connection that is left in a transaction keeps the whole file from being written, and what is done on it later is
// never committed.
func TestSQLite_callEndsInItsTransaction(t *testing.T) {
	t.Parallel()
	for _, word := range []string{"BEGIN", "INSERT", "COMMIT"} {
		t.Run(word, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "jobs.db")
			near := openFile(t, file)
			if err := sqlstore.CreateTables(t.Context(), near, sqlstore.Config{}); err != nil {
				t.Fatal(err)
			}
			l := &lateEnd{base: near.Driver(), dsn: "file:" + file + "?_pragma=busy_timeout(100)&_pragma=journal_mode(WAL)", word: word}
			far := sql.OpenDB(l)
			t.Cleanup(func() { _ = far.Close() })
			far.SetMaxOpenConns(1)
			store := sqlstore.New(far, sqlstore.Config{})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if err := store.Put(ctx, letter("before")); err != nil {
				t.Fatal(err)
			}
			l.end.Store(&cancel)
			if err := store.Put(ctx, letter("cancelled")); !errors.Is(err, context.Canceled) {
				t.Fatalf("the call ends with %v, and its context was cancelled", err)
			}
			l.end.Store(nil)
			for name, s := range map[string]jobs.Store{"its own": store, "another": sqlstore.New(near, sqlstore.Config{})} {
				if err := s.Put(t.Context(), letter(name)); err != nil {
					t.Errorf("%s pool writes to the file: %v", name, err)
				}
			}
		})
	}
}
