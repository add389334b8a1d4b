package sqlstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"log/slog"
	"testing"
	"time"

	lockrt "github.com/lockgen/lockgen/runtime"
)

// answers is a database that has one answer for every query, and calls meanwhile before it gives that.
type answers struct {
	row       []driver.Value
	meanwhile func()
}

func (a *answers) Connect(context.Context) (driver.Conn, error) { return a, nil }
func (a *answers) Driver() driver.Driver                        { return nil }
func (a *answers) Prepare(string) (driver.Stmt, error)          { return nil, errors.New("nothing is prepared") }
func (a *answers) Begin() (driver.Tx, error)                    { return nil, errors.New("there is no transaction") }
func (a *answers) Close() error                                 { return nil }

func (a *answers) QueryContext(context.Context, string, []driver.NamedValue) (driver.Rows, error) {
	a.meanwhile()
	return &oneRow{row: a.row}, nil
}

type oneRow struct {
	row  []driver.Value
	read bool
}

func (r *oneRow) Columns() []string { return make([]string, len(r.row)) }
func (r *oneRow) Close() error      { return nil }

func (r *oneRow) Next(dest []driver.Value) error {
	if r.read {
		return io.EOF
	}
	r.read = true
	copy(dest, r.row)
	return nil
}

// A ring says that a lease was broken, while the row is read in which that stands: the row may have been read before,
// and so it is read once more at once.
func TestSession_rung_whileToldIsRead(t *testing.T) {
	server := new(answers)
	db := sql.OpenDB(server)
	cfg, tables, err := Config{Dialect: Postgres}.resolve()
	if err != nil {
		t.Fatal(err)
	}
	s := newSession(New(db, cfg), lockrt.SessionConfig{Logger: slog.New(slog.DiscardHandler)}, cfg)
	s.store.known.Store(tables)
	s.bell.heard.Store(true)
	t.Cleanup(func() {
		s.calls.Close(time.Now().Add(time.Minute))
		_ = db.Close()
	})
	s.hold("mine", held{key: "mine", until: time.Now().Add(time.Hour)})
	pauseAfter := func(meanwhile func()) time.Duration {
		t.Helper()
		asked := 0
		server.meanwhile = func() {
			asked++
			meanwhile()
		}
		if err := s.pollDue(); err != nil {
			t.Fatal(err)
		}
		if asked != 1 {
			t.Errorf("the server is asked %d times, want once", asked)
		}
		return s.pollPause()
	}
	ring := func() { s.rung(ringTold) }
	check := func(what string) {
		t.Helper()
		ring()
		if pause := pauseAfter(ring); pause > 0 {
			t.Errorf("%s: the row is read once more after %s, want at once", what, pause)
		}
		if pause := pauseAfter(func() {}); pause == 0 {
			t.Errorf("%s: without a ring, the row is read again and again without a pause", what)
		}
	}
	server.row = []driver.Value{""}
	check("a question of its own")

	waiter := s.enlist(s.newRequest(lockrt.Request{Key: "k", ID: "1", TTL: time.Minute, Wait: lockrt.Forever}))
	s.queued(waiter, answer{outcome: busy, until: time.Minute.Microseconds(), turns: 1, place: 1})
	now := time.Now()
	s.beaten.Store(&now) // the poll is no sign of life
	s.sureAt = now
	server.row = []driver.Value{
		waiter.q.name, "other", "", int64(1), int64(1), int64(1), time.Hour.Microseconds(), "", "", int64(1), "",
	}
	s.pollNow(nil)
	ring()
	if pause := pauseAfter(ring); pause > 0 {
		t.Errorf("a poll of locks: the row is read once more after %s, want at once", pause)
	}
}
