package etcdtest

import (
	"testing"

	"github.com/lockgen/lockgen/internal/testetcd"
	"github.com/lockgen/lockgen/internal/testpages"
	jobstore "github.com/lockgen/lockgen/jobs/sqlstore"
	lockrt "github.com/lockgen/lockgen/runtime"
)

// The pages of locks, with the jobs in a database.
func TestDashboard(t *testing.T) {
	c := start(t, 1, testetcd.Options{})
	testpages.Locks(t, testpages.Store{
		Open: func(node string) *lockrt.Locker { return newLocker(t, c, node, lockrt.Config{}) },
		Jobs: jobstore.New(jobsDatabase(t), jobstore.Config{}),
	})
}
