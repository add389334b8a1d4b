package etcdtest

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/lockgen/lockgen/internal/testenv"
	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/etcdstore"
)

// node is a process of its own, as far as etcd knows: it has a client, with a line to each member.
type node struct {
	name  string
	lines []*testenv.Proxy
	locks *lockrt.Locker
}

func newNode(t testing.TB, c *cluster, name string, cfg lockrt.Config) *node {
	t.Helper()
	n := &node{name: name}
	var addrs []string
	for _, m := range c.Members {
		line := testenv.NewProxy(t, m.Addr())
		n.lines = append(n.lines, line)
		addrs = append(addrs, line.Addr())
	}
	n.locks = newLocker(t, c, name, cfg, addrs...)
	return n
}

// newLocker returns a Locker with a client of its own.
func newLocker(t testing.TB, c *cluster, name string, cfg lockrt.Config, addrs ...string) *lockrt.Locker {
	t.Helper()
	cfg.Node, cfg.Logger = name, slog.New(slog.DiscardHandler)
	locks, err := lockrt.New(etcdstore.New(c.client(t, addrs...), etcdstore.Config{}), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		if err := locks.Close(ctx); err != nil {
			t.Logf("close %s: %v", name, err)
		}
	})
	return locks
}

func (n *node) each(do func(*testenv.Proxy)) {
	for _, line := range n.lines {
		do(line)
	}
}
