package sqltest

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/fence"
)

func (e engine) tables(t *testing.T) {
	schema := map[fence.Dialect]string{fence.Postgres: "public", fence.MySQL: "lockgen", fence.SQLite: "main"}[e.dialect]
	for _, table := range []string{"order", schema + ".group", unique("Mixed")} {
		s := fence.SQL{Dialect: e.dialect, Table: table}
		for range 2 { // the second finds it there
			if err := s.CreateTable(t.Context(), e.db); err != nil {
				t.Fatalf("%s: %v", table, err)
			}
		}
		resource := unique("r")
		if err := e.guarded(t.Context(), s, resource, 9); err != nil {
			t.Errorf("%s: %v", table, err)
		}
		if err := e.guarded(t.Context(), s, resource, 8); !errors.Is(err, fence.ErrStale) {
			t.Errorf("%s, stale: %v", table, err)
		}
		if err := e.guarded(t.Context(), fence.SQL{Dialect: e.dialect}, resource, 8); err != nil {
			t.Errorf("%s is not a table of its own: %v", table, err)
		}
	}
	bad := fence.SQL{Dialect: e.dialect, Table: "x; DROP TABLE data"}
	if err := e.guarded(t.Context(), bad, "r", 1); !errors.Is(err, fence.ErrInvalid) {
		t.Errorf("table %q: %v", bad.Table, err)
	}
}

// missingTable: what the error tells to run must work.
func (e engine) missingTable(t *testing.T) {
	s := fence.SQL{Dialect: e.dialect, Table: unique("absent")}
	err := e.guarded(t.Context(), s, "r", 1)
	if err == nil || errors.Is(err, fence.ErrStale) {
		t.Fatalf("without a table: %v", err)
	}
	for _, want := range []string{"CreateTable", s.Table, string(e.dialect)} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not say %q", err, want)
		}
	}
	_, ddl, found := strings.Cut(err.Error(), "or run\n")
	if !found {
		t.Fatalf("the error names no statement: %v", err)
	}
	e.exec(t, ddl)
	if err := e.guarded(t.Context(), s, "r", 1); err != nil {
		t.Errorf("after running what the error says: %v", err)
	}
	if _, err := (fence.SQL{Dialect: e.dialect, Table: unique("absent")}).Prune(t.Context(), e.db, time.Hour); err == nil || !strings.Contains(err.Error(), "CreateTable") {
		t.Errorf("Prune: %v", err)
	}
}

// madeWhenMissed: with the zero Dialect nobody needs to have created the table, unless that would commit the
// transaction of the writes.
func (e engine) madeWhenMissed(t *testing.T) {
	s := fence.SQL{Table: unique("made")}
	if e.dialect == fence.MySQL {
		if err := e.guarded(t.Context(), s, "r", 9); err == nil || !strings.Contains(err.Error(), "CreateTable") {
			t.Errorf("a table that only a commit could make: %v", err)
		}
		return
	}
	tx, err := e.db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Guard(t.Context(), tx, "r", 9); err != nil {
		t.Fatal(err)
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for f := range 6 {
		wg.Go(func() {
			resource := unique("r")
			err := e.guarded(t.Context(), s, resource, lockrt.Fence(f+1))
			// A deferred transaction of SQLite that has read before another one wrote cannot write any more.
			for e.again(err) {
				err = e.guarded(t.Context(), s, resource, lockrt.Fence(f+1))
			}
			if err != nil {
				t.Errorf("first guard beside others: %v", err)
			}
		})
	}
	wg.Wait()
	if err := e.guarded(t.Context(), s, "r", 5); err != nil {
		t.Errorf("a mark of what was rolled back: %v", err)
	}
	if err := e.guarded(t.Context(), s, "r", 4); !errors.Is(err, fence.ErrStale) {
		t.Errorf("stale: %v", err)
	}
}

func (e engine) createdAtOnce(t *testing.T) {
	for range 10 {
		s := fence.SQL{Dialect: e.dialect, Table: unique("at_once")}
		var wg sync.WaitGroup
		for range 6 {
			wg.Go(func() {
				if err := s.CreateTable(t.Context(), e.db); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
	}
}

func (e engine) prune(t *testing.T) {
	s := fence.SQL{Dialect: e.dialect, Table: unique("prune")}
	if err := s.CreateTable(t.Context(), e.db); err != nil {
		t.Fatal(err)
	}
	for _, resource := range []string{"old", "young", "used again"} {
		if err := e.guarded(t.Context(), s, resource, 7); err != nil {
			t.Fatal(err)
		}
	}
	e.exec(t, "UPDATE "+s.Table+" SET seen_at = seen_at - 3700 WHERE resource <> 'young'")
	if err := e.guarded(t.Context(), s, "used again", 7); err != nil {
		t.Fatal(err)
	}
	if n, err := s.Prune(t.Context(), e.db, time.Hour); err != nil || n != 1 {
		t.Errorf("Prune = %d, %v, want 1", n, err)
	}
	for resource, kept := range map[string]bool{"old": false, "young": true, "used again": true} {
		if err := e.guarded(t.Context(), s, resource, 6); errors.Is(err, fence.ErrStale) != kept {
			t.Errorf("%s: %v", resource, err)
		}
	}
	if _, err := s.Prune(t.Context(), e.db, 0); !errors.Is(err, fence.ErrInvalid) {
		t.Errorf("Prune of everything: %v", err)
	}
}
