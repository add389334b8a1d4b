package lincheck

import (
	"context"
	"log/slog"
	"net"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/lockgen/lockgen/internal/testenv"
	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/zkstore"
)

const zkTick = 500 * time.Millisecond

// zkLocker is a process of its own: it has a session of ZooKeeper.
func zkLocker(t *testing.T, cfg lockrt.Config, addrs ...string) *lockrt.Locker {
	t.Helper()
	cfg.Logger = slog.New(slog.DiscardHandler)
	locks, err := lockrt.New(zkstore.New(addrs, zkstore.Config{Tick: zkTick}), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		if err := locks.Close(ctx); err != nil {
			t.Logf("close: %v", err) // answers may be lost here too
		}
	})
	return locks
}

func zkLockers(t *testing.T, e *testenv.ZooKeeperEnsemble, n int, cfg lockrt.Config) []*lockrt.Locker {
	t.Helper()
	lockers := make([]*lockrt.Locker, n)
	for i := range lockers {
		lockers[i] = zkLocker(t, cfg, e.Addrs()...)
	}
	return lockers
}

func TestLinearizable_zookeeper(t *testing.T) {
	if testenv.WithoutRaceDetector(t, "the client reads its lastZxid at a reconnect while an answer may write it") {
		return
	}
	n := seed(t)
	e := testenv.ZooKeeper(t, testenv.ZooKeeperConfig{Tick: zkTick})
	for name, cfg := range orders {
		t.Run(name, func(t *testing.T) {
			cfg.Namespace = name
			run(t, zkLockers(t, e, 3, cfg), 9, 15, n, false).mustBe(t, porcupine.Ok)
		})
	}
	t.Run("leases run out", func(t *testing.T) {
		run(t, zkLockers(t, e, 2, lockrt.Config{Namespace: "short"}), 6, 12, n, true).mustBe(t, porcupine.Ok)
	})
	t.Run("answers lost", func(t *testing.T) {
		lockers := make([]*lockrt.Locker, 3)
		for i := range lockers {
			line := newChaos(t, e.Servers[0].Addr(), n+uint64(i), 12)
			lockers[i] = zkLocker(t, lockrt.Config{Namespace: "lost"}, line.ln.Addr().(*net.TCPAddr).String())
		}
		h := run(t, lockers, 6, 12, n, true)
		h.mustBe(t, porcupine.Ok)
	})
}

// The leader of three servers is killed again and again.
func TestLinearizable_zookeeperLeadersKilled(t *testing.T) {
	if testenv.WithoutRaceDetector(t, "the client reads its lastZxid at a reconnect while an answer may write it") {
		return
	}
	n := seed(t)
	e := testenv.ZooKeeper(t, testenv.ZooKeeperConfig{Servers: 3, Tick: zkTick})
	lockers := zkLockers(t, e, 3, lockrt.Config{})
	stop, done := make(chan struct{}), make(chan error, 1)
	go func() { done <- killZooKeeperLeaders(t.Context(), e, stop) }()
	h := run(t, lockers, 6, 30, n, true)
	close(stop)
	if err := <-done; err != nil {
		t.Error(err)
	}
	h.mustBe(t, porcupine.Ok)
}

func killZooKeeperLeaders(ctx context.Context, e *testenv.ZooKeeperEnsemble, stop <-chan struct{}) error {
	for range 3 {
		select {
		case <-stop:
			return nil
		case <-time.After(150 * time.Millisecond):
		}
		s, err := e.Leader(ctx)
		if err != nil {
			return err
		}
		s.Kill()
		if err := s.Restart(); err != nil {
			return err
		}
	}
	return nil
}
