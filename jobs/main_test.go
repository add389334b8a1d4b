package jobs_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/lockgen/lockgen/internal/testenv"
)

func TestMain(m *testing.M) {
	if name := os.Getenv(childEnv); name != "" {
		beChild(name)
		return
	}
	goleak.VerifyTestMain(m)
}

// rounds is how often a simulation is repeated, or how many minutes it has: fewer with the race detector, with which it
// takes six times as long. .ci/test runs the simulations without it as well.
func rounds(all, race int) int {
	if testenv.RaceEnabled {
		return race
	}
	return all
}
