package main

import (
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/lockgen/lockgen/internal/testsync"
)

// mainEnv makes the test binary the command itself: so the tests run what was
// compiled with the race detector, and so do the nodes that it starts.
const mainEnv = "LOCKGEN_CLUSTER_MAIN"

func TestMain(m *testing.M) {
	if os.Getenv(mainEnv) != "" {
		main()
	}
	testsync.Patience = patience
	goleak.VerifyTestMain(m)
}
