package sqltest

import (
	"context"
	"database/sql"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/fence"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// engine is one database, seen through one driver with one setting of it.
type engine struct {
	db      *sql.DB
	dialect fence.Dialect
	// isolation are the levels to test; empty for the one that there is.
	isolation []sql.IsolationLevel
	// waiting counts transactions that wait for a lock; empty where the database does not tell.
	waiting string
	// impossible reports meetings that cannot take place because one open transaction keeps the other from its next
	// step. nil if all can.
	impossible func(meeting string, snapshot bool) bool
	// again reports whether the database asks for the transaction to be run again.
	again func(error) bool
}

// newEngine prepares the tables of the tests: data is what the fences protect, other gives a transaction something to
// read so that it has a snapshot.
func newEngine(t *testing.T, e engine) engine {
	t.Helper()
	t.Cleanup(func() {
		if err := e.db.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := fence.CreateTable(t.Context(), e.db, e.dialect); err != nil {
		t.Fatal(err)
	}
	e.exec(t, "CREATE TABLE IF NOT EXISTS data (name varchar(100) PRIMARY KEY, fence bigint NOT NULL)")
	e.exec(t, "CREATE TABLE IF NOT EXISTS other (n bigint)")
	return e
}

// text writes the placeholders of the dialect in place of ?.
func (e engine) text(query string) string {
	if e.dialect != fence.Postgres {
		return query
	}
	for n := 1; strings.Contains(query, "?"); n++ {
		query = strings.Replace(query, "?", "$"+strconv.Itoa(n), 1)
	}
	return query
}

func (e engine) exec(t testing.TB, query string, args ...any) {
	t.Helper()
	if _, err := e.db.ExecContext(t.Context(), e.text(query), args...); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}

func (e engine) number(t testing.TB, query string, args ...any) (n int64) {
	t.Helper()
	if err := e.db.QueryRowContext(t.Context(), e.text(query), args...).Scan(&n); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return n
}

// guarded runs Guard alone in a transaction.
func (e engine) guarded(ctx context.Context, s fence.SQL, resource string, f lockrt.Fence) error {
	tx, err := e.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := s.Guard(ctx, tx, resource, f); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}

// awaitBlocked waits until the database says that one transaction waits for a lock, or until done has a value, which
// it then returns.
func (e engine) awaitBlocked(t testing.TB, done <-chan error) (err error, ended bool) {
	t.Helper()
	if e.waiting == "" {
		return nil, false
	}
	for giveUp := time.After(30 * time.Second); ; {
		if e.number(t, e.waiting) > 0 {
			return nil, false
		}
		select {
		case err := <-done:
			return err, true
		case <-giveUp:
			t.Fatal("nobody waits for a lock, and nobody is done")
		case <-time.After(120 * time.Millisecond): // MariaDB renews what it tells only when not asked for 100 ms
		}
	}
}
