package sqltest

import (
	"context"
	"database/sql"
	"errors"
	"testing"

	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/fence"
)

// writer is one transaction.
type writer struct {
	*scenario
	ctx   context.Context
	tx    *sql.Tx
	fence lockrt.Fence
}

func (sc *scenario) begin(t testing.TB, f lockrt.Fence) *writer {
	t.Helper()
	w := &writer{scenario: sc, ctx: t.Context(), fence: f}
	if err := w.begin(sc.snapshot); err != nil {
		t.Fatalf("begin with fence %s: %v", f, err)
	}
	return w
}

func (w *writer) begin(snapshot bool) error {
	tx, err := w.db.BeginTx(w.ctx, &sql.TxOptions{Isolation: w.isolation})
	if err != nil {
		return err
	}
	w.tx = tx
	if !snapshot {
		return nil
	}
	var n int64
	if err := tx.QueryRowContext(w.ctx, "SELECT count(*) FROM other").Scan(&n); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return nil
}

// guard rolls back if it fails, as every user must.
func (w *writer) guard() error {
	err := fence.SQL{Dialect: w.dialect}.Guard(w.ctx, w.tx, w.resource, w.fence)
	if err != nil {
		return errors.Join(err, w.tx.Rollback())
	}
	return nil
}

func (w *writer) guardLater() <-chan error {
	done := make(chan error, 1)
	go func() { done <- w.guard() }()
	return done
}

func (w *writer) commit() error {
	if err := w.write(); err != nil {
		return errors.Join(err, w.tx.Rollback())
	}
	return w.tx.Commit()
}

// expectSees: what is read after the guard is as new as the guard, unless MySQL has made its snapshot before.
func (w *writer) expectSees(t testing.TB, want lockrt.Fence) {
	t.Helper()
	if w.snapshot && w.dialect == fence.MySQL {
		return
	}
	var got int64
	if err := w.tx.QueryRowContext(w.ctx, w.text("SELECT fence FROM data WHERE name = ?"), w.resource).Scan(&got); err != nil || got != int64(want) {
		t.Errorf("after the guard, with fence %s, data of fence %d are read, want %s: %v", w.fence, got, want, err)
	}
}

func (w *writer) write() error {
	_, err := w.tx.ExecContext(w.ctx, w.text("UPDATE data SET fence = ? WHERE name = ?"), int64(w.fence), w.resource)
	return err
}

// retry runs a whole transaction after the database asked for that; the snapshot of the last one is gone.
func (sc *scenario) retry(t testing.TB, f lockrt.Fence) error {
	w := &writer{scenario: sc, ctx: t.Context(), fence: f}
	if err := w.begin(false); err != nil {
		t.Fatal(err)
	}
	if err := w.guard(); err != nil {
		return err
	}
	return w.commit()
}
