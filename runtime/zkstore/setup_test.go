package zkstore_test

import (
	"context"
	"os"
	"sync"
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
	shared.stop()
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
	tick = 500 * time.Millisecond
	// dying is the session of processes that are killed: the shortest with these ticks, and some air.
	dying = 3 * time.Second
	// patient is the session of those that are not to lose it on a busy machine.
	patient = time.Hour
)

// shared is the server of most tests.
var shared server

type server struct {
	once     sync.Once
	ensemble *testenv.ZooKeeperEnsemble
	err      error
}

func (s *server) stop() {
	if s.ensemble != nil {
		_ = s.ensemble.Stop()
	}
}

// one returns the server that tests share. They use different namespaces.
func one(t testing.TB) *testenv.ZooKeeperEnsemble {
	t.Helper()
	shared.once.Do(func() {
		cfg := testenv.ZooKeeperConfig{Tick: tick, MaxSession: patient}
		shared.ensemble, shared.err = testenv.StartZooKeeper(context.Background(), cfg)
	})
	testenv.NeedZooKeeper(t, shared.err)
	return shared.ensemble
}

func config(session time.Duration) zkstore.Config {
	return zkstore.Config{SessionTimeout: session, Tick: tick}
}

func TestStore_conformance(t *testing.T) {
	e := one(t)
	storetest.Run(t, func(*testing.T) lockrt.Store { return zkstore.New(e.Addrs(), config(patient)) },
		storetest.Processes(func(*testing.T) string { return e.URL() + "?session=3s&tick=500ms" }),
		storetest.Coarse(dying+2*tick))
}
