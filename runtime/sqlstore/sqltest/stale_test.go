package sqltest

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/lockgen/lockgen/internal/testlocks"
	lockrt "github.com/lockgen/lockgen/runtime"
)

// A connection has statements prepared that the server does not know any more, or whose columns have changed: callers
// do not hear of that. Nothing was done, and the driver prepares them anew.
func TestPostgres_staleStatements(t *testing.T) {
	t.Parallel()
	for _, driver := range []string{"pgx", "postgres"} {
		t.Run(driver, func(t *testing.T) {
			e := postgres(t)
			own := *e
			own.db = openDB(t, driver, e.url)
			own.db.SetMaxOpenConns(1) // so that what is prepared is known
			createTables(t, own.db, own.cfg)
			s, _ := own.session(t, "a")
			round := func() {
				t.Helper()
				take(t, s, "k", "1", long)
				if _, err := s.Acquire(t.Context(), lockrt.Request{Key: "k", ID: "2", TTL: long}); !errors.Is(err, lockrt.ErrBusy) {
					t.Errorf("the second acquire ended with %v, want ErrBusy", err)
				}
				if err := s.Release(t.Context(), lockrt.Release{Key: "k", ID: "1"}); err != nil {
					t.Error(err)
				}
			}
			round()
			for _, text := range []string{
				"DISCARD ALL", "DEALLOCATE ALL",
				"ALTER TABLE lockgen_lock ALTER COLUMN node TYPE varchar(1000)",
				"ALTER TABLE lockgen_lock ALTER COLUMN node TYPE text",
			} {
				own.exec(t, text)
				take(t, s, "k", "1", long)
				own.exec(t, text)
				if _, err := s.Acquire(t.Context(), lockrt.Request{Key: "k", ID: "2", TTL: long}); !errors.Is(err, lockrt.ErrBusy) {
					t.Errorf("after %s a second acquire ended with %v, want ErrBusy", text, err)
				}
				own.exec(t, text)
				if err := s.Release(t.Context(), lockrt.Release{Key: "k", ID: "1"}); err != nil {
					t.Errorf("after %s the release ended with %v", text, err)
				}
			}
		})
	}
}

// All connections of a pool have statements prepared when a table is changed, and callers come on all of them at once.
func TestPostgres_staleStatementsOfAPool(t *testing.T) {
	t.Parallel()
	e := postgres(t)
	const callers = 24
	e.db.SetMaxIdleConns(2 * callers)
	locks := make([]*lockrt.Locker, 4) // each with connections of its own
	for i := range locks {
		locks[i] = e.locker(t, fmt.Sprint("node", i))
	}
	lease := testlocks.Acquire(t, locks[0], "k", lockrt.Options{TTL: long})
	for round := range 12 {
		var all sync.WaitGroup
		for i := range callers {
			all.Go(func() {
				for range 4 {
					_, err := locks[i%len(locks)].TryAcquire(t.Context(), "k", lockrt.Options{TTL: long})
					_, err2 := locks[i%len(locks)].Holder(t.Context(), "k")
					if !errors.Is(err, lockrt.ErrBusy) || err2 != nil {
						t.Errorf("TryAcquire ended with %v, want ErrBusy; Holder with %v", err, err2)
					}
				}
			})
		}
		all.Wait()
		e.exec(t, "ALTER TABLE lockgen_lock ALTER COLUMN node TYPE "+[]string{"varchar(1000)", "text"}[round%2])
		if err := lease.Check(t.Context()); err != nil {
			t.Errorf("Check: %v", err)
		}
	}
}
