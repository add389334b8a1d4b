package sqltest

import (
	"testing"

	"github.com/lockgen/lockgen/internal/testpages"
	jobstore "github.com/lockgen/lockgen/jobs/sqlstore"
	lockrt "github.com/lockgen/lockgen/runtime"
)

// The pages of locks, with the jobs in the same database.
func TestDashboard(t *testing.T) {
	engines(t, func(t *testing.T, e *engine) {
		if err := jobstore.CreateTables(t.Context(), e.db, jobstore.Config{}); err != nil {
			t.Fatal(err)
		}
		testpages.Locks(t, testpages.Store{
			Open: func(node string) *lockrt.Locker { return e.locker(t, node) },
			Jobs: jobstore.New(e.db, jobstore.Config{}),
		})
	})
}
