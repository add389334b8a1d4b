package sqltest

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lockgen/lockgen/internal/testsync"
	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/sqlstore"
)

const (
	long  = 10 * time.Minute
	short = 150 * time.Millisecond
)

// engine is one database with the tables.
type engine struct {
	name string
	db   *sql.DB
	url  string // as lockrt.Open takes it
	cfg  sqlstore.Config

	level     sql.IsolationLevel // of transactions with a guard
	forUpdate string             // what locks a row for its transaction; SQLite locks the whole file
}

// engines runs a test on every database, on all at once.
func engines(t *testing.T, test func(*testing.T, *engine)) {
	t.Parallel()
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		test(t, postgres(t))
	})
	t.Run("mariadb", func(t *testing.T) {
		t.Parallel()
		test(t, mariaDB(t))
	})
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		url := "sqlite:" + filepath.Join(t.TempDir(), "locks.db")
		test(t, &engine{name: "sqlite", db: openSQLite(t, url), url: url})
	})
}

type loss struct {
	id     string
	reason error
}

// session opens a session of a store of its own, in the namespace of the test.
func (e *engine) session(t *testing.T, node string) (lockrt.Session, <-chan loss) {
	t.Helper()
	losses := make(chan loss, 100)
	return e.sessionThat(t, node, func(id string, reason error) { testsync.Offer(losses, loss{id, reason}) }), losses
}

// sessionThat opens a session with a SessionConfig.Lost.
func (e *engine) sessionThat(t *testing.T, node string, lost func(id string, reason error)) lockrt.Session {
	t.Helper()
	s, err := sqlstore.New(e.db, e.cfg).Open(lockrt.SessionConfig{
		Namespace: t.Name(), Node: node, Logger: slog.New(slog.DiscardHandler), Lost: lost,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeSession(t, s) })
	return s
}

func closeSession(t *testing.T, s lockrt.Session) {
	t.Helper()
	if err := s.Close(context.Background()); err != nil {
		t.Error(err)
	}
}

// locker opens a Locker in the namespace of the test.
func (e *engine) locker(t *testing.T, node string) *lockrt.Locker {
	t.Helper()
	return e.lockerOf(t, lockrt.Config{Node: node})
}

func (e *engine) lockerOf(t *testing.T, cfg lockrt.Config) *lockrt.Locker {
	t.Helper()
	cfg.Namespace, cfg.Logger = t.Name(), slog.New(slog.DiscardHandler)
	l, err := lockrt.New(sqlstore.New(e.db, e.cfg), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return l
}

func take(t *testing.T, s lockrt.Session, key, id string, ttl time.Duration) lockrt.Grant {
	t.Helper()
	g, err := s.Acquire(t.Context(), lockrt.Request{Key: key, ID: id, TTL: ttl})
	if err != nil {
		t.Fatalf("acquire %q for %q: %v", key, id, err)
	}
	return g
}

type outcome struct {
	grant lockrt.Grant
	err   error
}

// waiting starts an Acquire, and returns when it stands in the queue.
func (e *engine) waiting(t *testing.T, s lockrt.Session, key, id string) <-chan outcome {
	t.Helper()
	done := make(chan outcome, 1)
	go func() {
		g, err := s.Acquire(context.WithoutCancel(t.Context()), lockrt.Request{Key: key, ID: id, TTL: long, Wait: lockrt.Forever})
		done <- outcome{g, err}
	}()
	testsync.Eventually(t, "the waiter is in the queue", func() bool {
		_, queue := e.row(t, key)
		return strings.Contains(queue, "\n"+id+" ")
	})
	return done
}

// end waits for the end of an Acquire.
func end(t *testing.T, done <-chan outcome) outcome {
	t.Helper()
	select {
	case o := <-done:
		return o
	case <-time.After(testsync.Patience):
		t.Fatal("somebody waits without end")
		panic("unreachable")
	}
}

func (e *engine) rowName(t *testing.T, key string) []byte { return []byte(t.Name() + "\x00" + key) }

// text writes the placeholders of the engine in place of ?.
func (e *engine) text(query string) string {
	if e.name != "postgres" {
		return query
	}
	for n := 1; strings.Contains(query, "?"); n++ {
		query = strings.Replace(query, "?", fmt.Sprint("$", n), 1)
	}
	return query
}

func (e *engine) exec(t *testing.T, query string, args ...any) {
	t.Helper()
	if _, err := e.db.ExecContext(t.Context(), e.text(query), args...); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}

// row returns who owns a lock, and its queue.
func (e *engine) row(t *testing.T, key string) (owner, queue string) {
	t.Helper()
	err := e.db.QueryRowContext(context.WithoutCancel(t.Context()), e.text("SELECT owner, queue FROM lockgen_lock WHERE name = ?"),
		e.rowName(t, key)).Scan(&owner, &queue)
	if err != nil && err != sql.ErrNoRows {
		t.Fatal(err)
	}
	return owner, queue
}

// lockRow keeps others from changing the row until what it returns is called.
func (e *engine) lockRow(t *testing.T, key string) (unlock func()) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	conn, err := e.db.Conn(ctx)
	if err != nil {
		t.Fatal(err)
	}
	begin := "BEGIN"
	if e.forUpdate == "" {
		begin = "BEGIN IMMEDIATE"
	}
	if _, err := conn.ExecContext(ctx, begin); err != nil {
		t.Fatal(err)
	}
	var one int
	if err := conn.QueryRowContext(ctx, e.text("SELECT 1 FROM lockgen_lock WHERE name = ?")+e.forUpdate, e.rowName(t, key)).Scan(&one); err != nil {
		t.Fatal(err)
	}
	unlocked := false
	unlock = func() {
		if unlocked {
			return
		}
		unlocked = true
		if _, err := conn.ExecContext(ctx, "ROLLBACK"); err != nil {
			t.Error(err)
		}
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(unlock)
	return unlock
}
