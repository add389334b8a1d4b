package sqltest

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"

	"github.com/lockgen/lockgen/jobs"
)

// A transaction that hears that its run is gone has locked nothing. In MySQL a statement that changes no row, because there
// is none, would keep every new run from beginning until the transaction ends.
func TestStore_CompleteTx_goneLocksNothing(t *testing.T) {
	t.Parallel()
	e := mariaDB(t)
	store, tries := e.store(), 0
	e.only(t, store, 1, func(ctx context.Context, _ string) error {
		if tries++; tries > 1 {
			return nil
		}
		run, _ := jobs.RunFromContext(ctx)
		over := jobs.Finish{ // as another node ends it that has taken it over
			Run: jobs.Run{ID: run.ID, Job: run.Job, OneOff: "a", Outcome: jobs.OutcomeOK}, Owner: run.Session, Keep: 3,
		}
		if err := store.Finish(ctx, []jobs.Finish{over})[0]; err != nil {
			t.Error(err)
		}
		tx, err := e.db.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelRepeatableRead})
		if err != nil {
			return err
		}
		defer tx.Rollback()
		if err := store.CompleteTx(ctx, tx); !errors.Is(err, jobs.ErrGone) {
			t.Errorf("CompleteTx: %v", err)
		}
		var locks int
		const query = "SELECT coalesce(sum(trx_lock_structs), 0) FROM information_schema.innodb_trx WHERE trx_mysql_thread_id = connection_id()"
		if err := tx.QueryRow(query).Scan(&locks); err != nil || locks > 0 {
			t.Errorf("the transaction has %d structures with locks; %v", locks, err)
		}
		return nil
	})
}

// A transaction that only reads is refused with its reason, and the server is not blamed.
func TestStore_PutTx_readOnly(t *testing.T) {
	lockingRows(t, func(t *testing.T, e *engine) {
		tx, err := e.db.BeginTx(t.Context(), &sql.TxOptions{ReadOnly: true})
		if err != nil {
			t.Fatal(err)
		}
		defer tx.Rollback()
		err = e.store().PutTx(t.Context(), tx, letter("a"))
		if wants(t, err, "the transaction is read-only"); strings.Contains(err.Error(), "need the primary") {
			t.Errorf("the error misleads: %v", err)
		}
	})
}
