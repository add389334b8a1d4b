package etcdtest

import (
	"context"
	"strings"
	"testing"
	"time"

	etcd "go.etcd.io/etcd/client/v3"

	"github.com/lockgen/lockgen/internal/testetcd"
)

// cluster is one of a test, without errors.
type cluster struct{ *testetcd.Cluster }

func start(t testing.TB, n int, o testetcd.Options) *cluster {
	t.Helper()
	return &cluster{testetcd.Start(t, n, o)}
}

// client returns a client of the members, or of other addresses.
func (c *cluster) client(t testing.TB, addrs ...string) *etcd.Client {
	t.Helper()
	client, err := c.Client(addrs...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// leader returns the member that leads.
func (c *cluster) leader(t testing.TB) *testetcd.Member {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	m, err := c.Leader(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// keys returns all that locks have left in etcd, except what remembers the base of the epochs.
func (c *cluster) keys(t testing.TB) (left []string) {
	t.Helper()
	r, err := c.client(t).Get(context.Background(), "\x00", etcd.WithFromKey(), etcd.WithKeysOnly())
	if err != nil {
		t.Fatal(err)
	}
	for _, kv := range r.Kvs {
		if !strings.HasSuffix(string(kv.Key), "/b") {
			left = append(left, string(kv.Key))
		}
	}
	return left
}

// mustBeEmpty waits until nothing is left in etcd: keys of the dead go with their leases.
func (c *cluster) mustBeEmpty(t testing.TB) {
	t.Helper()
	eventually(t, "no key is left", func() bool {
		left := c.keys(t)
		if len(left) > 0 {
			time.Sleep(200 * time.Millisecond)
		}
		return len(left) == 0
	})
}
