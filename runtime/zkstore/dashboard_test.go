package zkstore_test

import (
	"testing"

	"github.com/lockgen/lockgen/internal/testpages"
	"github.com/lockgen/lockgen/jobs/memstore"
	lockrt "github.com/lockgen/lockgen/runtime"
)

// The pages of locks. ZooKeeper has no jobs: they are elsewhere.
func TestDashboard(t *testing.T) {
	e := one(t)
	testpages.Locks(t, testpages.Store{
		Open: func(node string) *lockrt.Locker {
			return newLocker(t, e.Addrs(), config(patient), node, lockrt.Config{Namespace: t.Name()})
		},
		Jobs: memstore.New(), Alone: true,
	})
}
