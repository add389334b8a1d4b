package memstore_test

import (
	"testing"

	"go.uber.org/goleak"

	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/memstore"
	"github.com/lockgen/lockgen/runtime/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestStore_conformance(t *testing.T) {
	storetest.Run(t, func(*testing.T) lockrt.Store { return memstore.New() })
}
