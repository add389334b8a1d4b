package zkstore_test

import (
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/lockgen/lockgen/internal/testenv"
	"github.com/lockgen/lockgen/internal/testlocks"
	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/storetest"
	"github.com/lockgen/lockgen/runtime/zkstore"
)

func TestMain(m *testing.M) {
	storetest.BeProcess()
	testlocks.BeProcess(openChaos)
	code := m.Run()
	zkstore.StopOneServer()
	// A closed session that still holds something waits a moment for its release.
	err := goleak.Find()
	for range 10 {
		if err != nil {
			err = goleak.Find()
		}
	}
	if code == 0 && err != nil {
		_, _ = os.Stderr.WriteString(err.Error() + "\n")
		code = 1
	}
	os.Exit(code)
}

const (
	tick = zkstore.TestTick
	// dying is the session of processes that are killed: the shortest with these ticks, and some air.
	dying = 3 * time.Second
	// patient is the session of those that are not to lose it on a busy machine.
	patient = zkstore.TestSession
)

// one returns the server that tests share. They use different namespaces.
func one(t testing.TB) *testenv.ZooKeeperEnsemble { return zkstore.OneServer(t) }

func config(session time.Duration) zkstore.Config {
	return zkstore.Config{SessionTimeout: session, Tick: tick}
}

func TestStore_conformance(t *testing.T) {
	e := one(t)
	storetest.Run(t, func(*testing.T) lockrt.Store { return zkstore.New(e.Addrs(), config(patient)) },
		storetest.Processes(func(*testing.T) string { return e.URL() + "?session=3s&tick=500ms" }),
		storetest.Coarse(dying+2*tick))
}
