package lincheck

import (
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/lockgen/lockgen/internal/testenv"
	"github.com/lockgen/lockgen/internal/testetcd"
	lockrt "github.com/lockgen/lockgen/runtime"
)

// stopperEnv makes the test's program one that stops its parent again and again. It has the seed.
const stopperEnv = "LOCKGEN_LINCHECK_STOPPER"

// stopMost and runMost are for how long the parent stands still, and goes on, at the most.
const stopMost, runMost = 60 * time.Millisecond, 20 * time.Millisecond

// beStopper does not return in that program, which ends with its standard input.
func beStopper() {
	seed, err := strconv.ParseUint(os.Getenv(stopperEnv), 10, 64)
	if err != nil {
		return
	}
	over := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		close(over)
	}()
	random, parent := rand.New(rand.NewPCG(seed, 0)), os.Getppid()
	for {
		select {
		case <-over:
			os.Exit(0)
		case <-time.After(upTo(random, runMost)):
		}
		_ = syscall.Kill(parent, syscall.SIGSTOP)
		time.Sleep(upTo(random, stopMost))
		_ = syscall.Kill(parent, syscall.SIGCONT)
	}
}

// stops lets this process stand still again and again until the test ends: whatever it does takes long now and then,
// and what comes meanwhile comes all at once.
func stops(t *testing.T, seed uint64) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), stopperEnv+"="+strconv.FormatUint(seed, 10))
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	})
}

// The clients' process stands still again and again. Leases are long enough for that, so that the lock is busy if and
// only if somebody has it: a grant that its waiter does not hear of would be found.
func TestLinearizable_stops(t *testing.T) {
	n := seed(t)
	mixed := load{clients: 9, rounds: 12, kinds: allKinds}
	alone := load{clients: 9, rounds: 12, kinds: []visit{{}}}
	each := func(t *testing.T, lockers func(t *testing.T, cfg lockrt.Config) []*lockrt.Locker, kinds ...load) {
		for name, cfg := range orders {
			t.Run(name, func(t *testing.T) {
				cfg.Namespace = name
				ls := lockers(t, cfg)
				stops(t, n)
				for _, l := range kinds {
					l.run(t, ls, n).mustBe(t, porcupine.Ok)
				}
			})
		}
	}
	t.Run("redis", func(t *testing.T) {
		server := testenv.Redis(t)
		each(t, func(t *testing.T, cfg lockrt.Config) []*lockrt.Locker { return newLockers(t, server.Addr(), 3, cfg) },
			alone, mixed)
	})
	t.Run("sql", func(t *testing.T) {
		sqlEngines(t, func(t *testing.T, e *sqlEngine) {
			each(t, func(t *testing.T, cfg lockrt.Config) []*lockrt.Locker { return e.lockers(t, 3, cfg) }, alone, mixed)
		})
	})
	t.Run("etcd", func(t *testing.T) {
		c := testetcd.Start(t, 1, testetcd.Options{})
		each(t, func(t *testing.T, cfg lockrt.Config) []*lockrt.Locker { return etcdLockers(t, c, 3, cfg) }, alone, mixed)
	})
	t.Run("zookeeper", func(t *testing.T) {
		if testenv.WithoutRaceDetector(t, "the client reads its lastZxid at a reconnect while an answer may write it") {
			return
		}
		e := testenv.ZooKeeper(t, testenv.ZooKeeperConfig{Tick: zkTick})
		each(t, func(t *testing.T, cfg lockrt.Config) []*lockrt.Locker { return zkLockers(t, e, 3, cfg) }, alone)
	})
}
