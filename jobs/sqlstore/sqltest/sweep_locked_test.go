package sqltest

import (
	"context"
	"database/sql"
	"fmt"
	"testing"
	"time"

	"github.com/lockgen/lockgen/jobs"
)

// A transaction of the application has put a job again that is old, or a new one, and stays open; another has locked more
// that is old. Sweep deletes the rest, waits for neither, and deletes that the next time.
func TestStore_Sweep_besideOpenTx(t *testing.T) {
	lockingRows(t, func(t *testing.T, e *engine) {
		for _, level := range []sql.IsolationLevel{sql.LevelDefault, sql.LevelReadCommitted, sql.LevelSerializable} {
			for _, id := range []string{"0", "b", "c", "zz"} { // before, among and behind the others, and one of them
				t.Run(fmt.Sprint(level, " ", id), func(t *testing.T) { sweepBeside(t, e, level, id) })
			}
		}
	})
}

func sweepBeside(t *testing.T, e *engine, level sql.IsolationLevel, id string) {
	for _, table := range []string{"oneoff WHERE past > 0", "node", "job WHERE seen > 0"} {
		e.exec(t, "DELETE FROM lockgen_"+table)
	}
	s := e.store()
	for _, known := range []string{"a", "c", "d", "x"} {
		o := letter(known)
		if err := s.Put(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		c := manual("one-off:"+mailer, "r"+known, "s")
		c.Manual, c.OneOff, c.Tick, c.Due = false, known, o.At, time.Unix(1, 0)
		if got := s.Claim(t.Context(), []jobs.Claim{c})[0]; got.Status != jobs.ClaimWon {
			t.Fatal(got)
		}
	}
	for _, session := range []string{"dead", "stuck"} {
		if _, err := s.Heartbeat(t.Context(), jobs.Heartbeat{Session: session, Lease: time.Minute}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Register(t.Context(), offers("dead", "stuck")); err != nil {
		t.Fatal(err)
	}
	year := (401 * 24 * time.Hour).Microseconds()
	e.exec(t, fmt.Sprintf("UPDATE lockgen_oneoff SET past = past - %d WHERE past > 0 AND id <> 'x'", year))
	e.exec(t, fmt.Sprintf("UPDATE lockgen_node SET alive = alive - %d, beat = beat - %[1]d WHERE beat > 0", year))
	e.exec(t, fmt.Sprintf("UPDATE lockgen_job SET seen = seen - %d WHERE seen > 0", year))
	tx, err := e.db.BeginTx(t.Context(), &sql.TxOptions{Isolation: level})
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	if err := s.PutTx(t.Context(), tx, letter(id)); err != nil {
		t.Fatal(err)
	}
	node := e.lock(t, "SELECT 1 FROM lockgen_node WHERE session = 'stuck'")
	job := e.lock(t, "SELECT 1 FROM lockgen_job WHERE name = 'stuck'")
	sweep := func(oneOffs, nodes, known int) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), schedulerTime)
		defer cancel()
		if err := s.Sweep(ctx); err != nil {
			t.Errorf("sweep: %v", err)
		}
		for table, want := range map[string]int{"oneoff WHERE past > 0": oneOffs, "node WHERE beat > 0": nodes, "job WHERE known = 1": known} {
			if n := e.count(t, table); n != want {
				t.Errorf("%d rows in %s, want %d", n, table, want)
			}
		}
	}
	locked := 0
	if id == "c" {
		locked = 1
	}
	sweep(1+locked, 1, 1)
	for _, tx := range []*sql.Tx{tx, node, job} {
		if err := tx.Rollback(); err != nil {
			t.Fatal(err)
		}
	}
	sweep(1, 0, 0)
}
