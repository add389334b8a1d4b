package zkstore_test

import (
	"context"
	"testing"
	"time"

	"github.com/lockgen/lockgen/internal/testenv"
	"github.com/lockgen/lockgen/internal/testlocks"
	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/zkstore"
)

const chaosSession = 4 * time.Second

// openChaos returns a Locker of a node of a chaos.
func openChaos(addrs []string, cfg lockrt.Config) (*lockrt.Locker, error) {
	return lockrt.New(zkstore.New(addrs, config(chaosSession)), cfg)
}

func chaos(t *testing.T, processes bool) {
	t.Helper()
	if testenv.WithoutRaceDetector(t, clientRace) {
		return
	}
	e := testenv.ZooKeeper(t, testenv.ZooKeeperConfig{Servers: 3, Tick: tick})
	all := testlocks.Chaos{
		Leader: func(ctx context.Context) (testlocks.Server, error) { return e.Leader(ctx) },
		Open:   openChaos, Processes: processes, Faults: 60, Patience: 40 * time.Second,
	}
	for _, s := range e.Servers {
		all.Servers = append(all.Servers, s)
	}
	all.Run(t)
	mustBeEmpty(t, client(t, e.Addrs()))
}

// Nodes share locks of an ensemble of three, while all goes wrong. Nothing is left behind.
func TestChaos(t *testing.T) { chaos(t, false) }

// The same with nodes that are processes of their own, which are killed and stopped.
func TestChaos_processes(t *testing.T) { chaos(t, true) }
