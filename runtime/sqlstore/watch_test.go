package sqlstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"log/slog"
	"testing"
	"time"

	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/internal/waits"
)

// noServer is a database that cannot be reached.
type noServer struct{}

func (noServer) Connect(context.Context) (driver.Conn, error) { return nil, errors.New("no server") }
func (noServer) Driver() driver.Driver                        { return nil }

// waitsForK is a session without a server, in which one request waits for the lock k. The next poll is due.
func waitsForK(t *testing.T) (*session, *waiter, *watch) {
	t.Helper()
	db := sql.OpenDB(noServer{})
	cfg, err := Config{}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	s := newSession(New(db, cfg), lockrt.SessionConfig{Logger: slog.New(slog.DiscardHandler)}, cfg)
	t.Cleanup(func() {
		s.calls.Close(time.Now().Add(time.Minute))
		_ = db.Close()
	})
	waiter := s.enlist(s.newRequest(lockrt.Request{Key: "k", ID: "1", TTL: time.Minute, Wait: lockrt.Forever}))
	s.queued(waiter, answer{outcome: busy, until: time.Minute.Microseconds(), turns: 1, place: 1})
	s.pollNow(nil)
	return s, waiter, waiter.watch
}

// A poll is under way when a ring says that the lock has changed: the poll may have read the row before that, and so
// another one follows at once.
func TestSession_pollNow_duringAPoll(t *testing.T) {
	s, _, w := waitsForK(t)
	held := map[string]rowState{string(w.name): {owner: "other", turns: 1, until: time.Hour.Microseconds()}}
	poll := func(meanwhile func()) time.Duration {
		t.Helper()
		due := s.takeWatches()
		if len(due) != 1 {
			t.Fatalf("%d locks are asked about, want 1", len(due))
		}
		meanwhile()
		s.mu.Lock()
		s.polled(w, held, clockPair{Local: time.Now(), Micros: 1})
		s.mu.Unlock()
		return s.pollPause()
	}
	for name, meanwhile := range map[string]func(){
		"a ring for all": func() { s.pollNow(nil) },
		"a ring for it":  func() { s.pollNow([]string{w.hash}) },
		"a ring, and then the answer to a question": func() {
			s.pollNow(nil)
			s.queued(w.waiters[0], answer{outcome: busy, until: time.Minute.Microseconds(), turns: 1, place: 1})
		},
	} {
		if pause := poll(meanwhile); pause > 0 {
			t.Errorf("%s: the next poll comes after %s, want at once", name, pause)
		}
	}
	if pause := poll(func() {}); pause == 0 {
		t.Error("without a ring, polls follow each other without a pause")
	}
}

// A poll says what was so before or after the answer that the waiter has: nobody knows. A grant is not missed because of
// that, and one that is over is not taken.
func TestWaiting_hear_pollThatMayBeOlder(t *testing.T) {
	now := time.Now()
	for _, test := range []struct {
		name    string
		outcome outcome
		sent    time.Time
		asks    bool
		gets    bool
		fails   bool
	}{
		{"busy, sent before", busy, now.Add(-time.Second), false, false, false},
		{"granted, sent before", granted, now.Add(-time.Second), true, false, false},
		{"broken, sent before", broken, now.Add(-time.Second), true, false, false},
		{"granted, sent after", granted, now.Add(time.Second), false, true, false},
		{"broken, sent after", broken, now.Add(time.Second), false, false, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			s, waiter, _ := waitsForK(t)
			w := waiting{State: waits.Begin(t.Context(), waiter.q.req), s: s, q: waiter.q, w: waiter, clock: clockPair{Local: now, Micros: 5}}
			h := heard{answer: answer{
				outcome: test.outcome, epoch: 7, since: 3, until: time.Hour.Microseconds(), clock: clockPair{Local: test.sent, Micros: 3},
			}}
			grant, err := w.hear(t.Context(), h, false)
			if asks := w.question.Answer != nil; asks != test.asks || (grant != nil) != test.gets || (err != nil) != test.fails {
				t.Errorf("it asks: %t, grant %v, error %v", asks, grant, err)
			}
			w.question.Settle()
		})
	}
}
