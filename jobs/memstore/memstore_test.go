package memstore_test

import (
	"testing"

	"github.com/lockgen/lockgen/jobs"
	"github.com/lockgen/lockgen/jobs/memstore"
	"github.com/lockgen/lockgen/jobs/storetest"
)

func TestStore(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(*testing.T) jobs.Store { return memstore.New() })
}
