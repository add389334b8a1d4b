package lincheck

import (
	"context"
	"log/slog"
	"net"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/lockgen/lockgen/internal/testetcd"
	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/etcdstore"
)

// etcdLocker is a process of its own: it has a client.
func etcdLocker(t *testing.T, c *testetcd.Cluster, cfg lockrt.Config, addrs ...string) *lockrt.Locker {
	t.Helper()
	client, err := c.Client(addrs...)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Logger = slog.New(slog.DiscardHandler)
	locks, err := lockrt.New(etcdstore.New(client, etcdstore.Config{}), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		if err := locks.Close(ctx); err != nil {
			t.Logf("close: %v", err) // answers may be lost here too
		}
		_ = client.Close()
	})
	return locks
}

func etcdLockers(t *testing.T, c *testetcd.Cluster, n int, cfg lockrt.Config) []*lockrt.Locker {
	t.Helper()
	lockers := make([]*lockrt.Locker, n)
	for i := range lockers {
		lockers[i] = etcdLocker(t, c, cfg)
	}
	return lockers
}

func TestLinearizable_etcd(t *testing.T) {
	n := seed(t)
	c := testetcd.Start(t, 1, testetcd.Options{})
	for name, cfg := range orders {
		t.Run(name, func(t *testing.T) {
			cfg.Namespace = name
			run(t, etcdLockers(t, c, 3, cfg), 9, 15, n, false).mustBe(t, porcupine.Ok)
		})
	}
	t.Run("leases run out", func(t *testing.T) {
		run(t, etcdLockers(t, c, 2, lockrt.Config{Namespace: "short"}), 6, 12, n, true).mustBe(t, porcupine.Ok)
	})
}

// Answers are lost with their connections.
func TestLinearizable_etcdAnswersLost(t *testing.T) {
	n := seed(t)
	c := testetcd.Start(t, 1, testetcd.Options{})
	lockers := make([]*lockrt.Locker, 3)
	for i := range lockers {
		line := newChaos(t, c.Members[0].Addr(), n+uint64(i), 12)
		lockers[i] = etcdLocker(t, c, lockrt.Config{}, line.ln.Addr().(*net.TCPAddr).String())
	}
	h := run(t, lockers, 6, 12, n, true)
	h.mustBe(t, porcupine.Ok)
}

// The leader of three members is killed again and again.
func TestLinearizable_etcdLeadersKilled(t *testing.T) {
	n := seed(t)
	c := testetcd.Start(t, 3, testetcd.Options{})
	lockers := etcdLockers(t, c, 3, lockrt.Config{})
	whileLeadersDie(t, c, func() *history { return run(t, lockers, 6, 30, n, true) })
}

// Readers, writers and permits share one lock.
func TestLinearizable_etcdKinds(t *testing.T) {
	n := seed(t)
	c := testetcd.Start(t, 1, testetcd.Options{})
	for name, cfg := range orders {
		t.Run(name, func(t *testing.T) {
			cfg.Namespace = name
			mixed.run(t, etcdLockers(t, c, 3, cfg), n).mustBe(t, porcupine.Ok)
		})
	}
	t.Run("nobody waits", func(t *testing.T) {
		idle.run(t, etcdLockers(t, c, 4, lockrt.Config{Namespace: "idle"}), n).mustBe(t, porcupine.Ok)
	})
	t.Run("permits alone", func(t *testing.T) {
		scarce.run(t, etcdLockers(t, c, 4, lockrt.Config{Namespace: "scarce"}), n).mustBe(t, porcupine.Ok)
	})
	t.Run("leases run out", func(t *testing.T) {
		lockers := etcdLockers(t, c, 3, lockrt.Config{Namespace: "short"})
		load{clients: 6, rounds: 20, kinds: allKinds, hangs: true}.run(t, lockers, n).mustBe(t, porcupine.Ok)
	})
}

// The same while answers are lost with their connections.
func TestLinearizable_etcdKindsAnswersLost(t *testing.T) {
	n := seed(t)
	c := testetcd.Start(t, 1, testetcd.Options{})
	lockers := make([]*lockrt.Locker, 3)
	for i := range lockers {
		line := newChaos(t, c.Members[0].Addr(), n+uint64(i), 15)
		lockers[i] = etcdLocker(t, c, lockrt.Config{}, line.ln.Addr().(*net.TCPAddr).String())
	}
	h := load{clients: 6, rounds: 20, kinds: allKinds, stays: time.Millisecond, hangs: true}.run(t, lockers, n)
	h.mustBe(t, porcupine.Ok)
}

// The same while leaders are killed.
func TestLinearizable_etcdKindsLeadersKilled(t *testing.T) {
	n := seed(t)
	c := testetcd.Start(t, 3, testetcd.Options{})
	lockers := etcdLockers(t, c, 3, lockrt.Config{})
	l := load{clients: 6, rounds: 30, kinds: allKinds, stays: time.Millisecond, hangs: true}
	whileLeadersDie(t, c, func() *history { return l.run(t, lockers, n) })
}

// whileLeadersDie checks a history that is made while leaders are killed.
func whileLeadersDie(t *testing.T, c *testetcd.Cluster, record func() *history) {
	t.Helper()
	stop, done := make(chan struct{}), make(chan error, 1)
	go func() { done <- killLeaders(t.Context(), c, stop) }()
	h := record()
	close(stop)
	if err := <-done; err != nil {
		t.Error(err)
	}
	h.mustBe(t, porcupine.Ok)
}

func killLeaders(ctx context.Context, c *testetcd.Cluster, stop <-chan struct{}) error {
	for range 3 {
		select {
		case <-stop:
			return nil
		case <-time.After(150 * time.Millisecond):
		}
		m, err := c.Leader(ctx)
		if err != nil {
			return err
		}
		m.Kill()
		if err := m.Restart(); err != nil {
			return err
		}
	}
	return nil
}
