package stockdb

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"
)

func get(t *testing.T, db interface {
	QueryRowContext(context.Context, string, ...any) *sql.Row
}, query string) (n int) {
	t.Helper()
	if err := db.QueryRowContext(t.Context(), query).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func begin(t *testing.T, db *sql.DB) *sql.Tx {
	t.Helper()
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for query, arg := range map[string]any{Order: "a", SetRemaining: 0} {
		if _, err := tx.ExecContext(t.Context(), query, arg); err != nil {
			t.Fatal(err)
		}
	}
	return tx
}

func TestDB_transactionIsSeenAfterItsCommit(t *testing.T) {
	db := Open(1)
	defer db.Close()
	for _, commit := range []bool{false, true} {
		tx := begin(t, db)
		if left, sold := get(t, tx, Remaining), get(t, tx, Sold); left != 0 || sold != 1 {
			t.Errorf("the transaction sees %d left and %d sold", left, sold)
		}
		if left, sold := get(t, db, Remaining), get(t, db, Sold); left != 1 || sold != 0 {
			t.Errorf("before the end others see %d left and %d sold", left, sold)
		}
		end, want := tx.Rollback, 0
		if commit {
			end, want = tx.Commit, 1
		}
		if err := end(); err != nil {
			t.Fatal(err)
		}
		if left, sold := get(t, db, Remaining), get(t, db, Sold); left != 1-want || sold != want {
			t.Errorf("commit %v: others see %d left and %d sold", commit, left, sold)
		}
	}
}

func TestDB_transactionsWriteOneAfterTheOther(t *testing.T) {
	db := Open(1)
	defer db.Close()
	tx := begin(t, db)
	ctx, cancel := context.WithCancel(t.Context())
	failed := make(chan error, 1)
	go func() {
		_, err := db.BeginTx(ctx, nil)
		failed <- err
	}()
	cancel()
	if err := <-failed; !errors.Is(err, context.Canceled) {
		t.Errorf("a second transaction: %v", err)
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	if err := begin(t, db).Rollback(); err != nil {
		t.Fatal(err)
	}
}

func TestDB_unknownStatement(t *testing.T) {
	db := Open(1)
	defer db.Close()
	var n int
	if err := db.QueryRowContext(t.Context(), "SELECT 1").Scan(&n); err == nil || !strings.Contains(err.Error(), "SELECT 1") {
		t.Errorf("a query: %v", err)
	}
	if _, err := db.ExecContext(t.Context(), SetRemaining, 0); err == nil || !strings.Contains(err.Error(), "transaction") {
		t.Errorf("without a transaction: %v", err)
	}
	tx := begin(t, db)
	defer tx.Rollback()
	if _, err := tx.ExecContext(t.Context(), SetRemaining, "none"); err == nil || !strings.Contains(err.Error(), "string") {
		t.Errorf("a wrong argument: %v", err)
	}
}
