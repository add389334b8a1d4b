package sqltest

import (
	"context"
	"errors"
	"testing"
	"time"

	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/fence"
	"github.com/lockgen/lockgen/runtime/memstore"
)

// check: a reader's fence is compared, and raises nothing.
func (e engine) check(t *testing.T) {
	s := fence.SQL{Dialect: e.dialect, Table: unique("check")}
	missing := s.Check(t.Context(), e.db, "r", 7)
	if missing == nil || errors.Is(missing, fence.ErrStale) {
		t.Errorf("without a table: %v, want an error", missing)
	}
	if err := s.CreateTable(t.Context(), e.db); err != nil {
		t.Fatal(err)
	}
	if err := s.Check(t.Context(), e.db, "r", 7); err != nil {
		t.Errorf("without a mark: %v", err)
	}
	if err := e.guarded(t.Context(), s, "r", 7); err != nil {
		t.Fatal(err)
	}
	for f, stale := range map[lockrt.Fence]bool{6: true, 7: false, 8: false} {
		if err := s.Check(t.Context(), e.db, "r", f); errors.Is(err, fence.ErrStale) != stale || !stale && err != nil {
			t.Errorf("fence %d after 7: %v, stale %v", f, err, stale)
		}
	}
	if mark := e.number(t, "SELECT fence FROM "+s.Table+" WHERE resource = ?", "r"); mark != 7 {
		t.Errorf("the mark is %d after checks, want still 7", mark)
	}
	if err := s.Check(t.Context(), e.db, "", 7); !errors.Is(err, fence.ErrInvalid) {
		t.Errorf("without a resource: %v", err)
	}
	// In a transaction, with the dialect detected and a table that may be missing: it can go on after the check.
	tx, err := e.db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	if err := (fence.SQL{Table: unique("nowhere")}).Check(t.Context(), tx, "r", 7); err != nil {
		t.Errorf("without a table that it could create: %v", err)
	}
	if err := fence.Check(t.Context(), tx, unique("r"), 7); err != nil {
		t.Errorf("the zero SQL: %v", err)
	}
	if _, err := tx.ExecContext(t.Context(), "INSERT INTO other (n) VALUES (1)"); err != nil {
		t.Errorf("the transaction cannot go on: %v", err)
	}
}

// slots: the holders of permits are guarded each by its slot, and readers do not refuse each other.
func (e engine) slots(t *testing.T) {
	locks, err := lockrt.New(memstore.New(), lockrt.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer locks.Close(context.Background())
	s, key := fence.SQL{Dialect: e.dialect}, unique("gpu")
	guard := func(lease *lockrt.Lease) error {
		tx, err := e.db.BeginTx(t.Context(), nil)
		if err != nil {
			return err
		}
		if err := errors.Join(s.GuardLease(lease.Context(), tx, key), s.CheckLease(lease.Context(), tx, key)); err != nil {
			return errors.Join(err, tx.Rollback())
		}
		return tx.Commit()
	}
	acquire := func() *lockrt.Lease {
		lease, err := locks.Acquire(t.Context(), key, lockrt.Options{TTL: time.Minute, Permits: 2})
		if err != nil {
			t.Fatal(err)
		}
		return lease
	}
	old, young := acquire(), acquire()
	for _, lease := range []*lockrt.Lease{young, old, young} {
		if err := guard(lease); err != nil {
			t.Errorf("slot %d: %v", lease.Slot(), err)
		}
	}
	late := old.Fence()
	if err := old.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	next := acquire()
	if err := guard(next); err != nil || next.Slot() != 0 {
		t.Errorf("slot %d: %v", next.Slot(), err)
	}
	for name, err := range map[string]error{
		"guard": e.guarded(t.Context(), s, key+"#0", late), "check": s.Check(t.Context(), e.db, key+"#0", late),
	} {
		if !errors.Is(err, fence.ErrStale) {
			t.Errorf("%s of the slot's earlier holder: %v, want ErrStale", name, err)
		}
	}
}
