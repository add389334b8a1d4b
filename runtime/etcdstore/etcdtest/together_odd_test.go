package etcdtest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	etcd "go.etcd.io/etcd/client/v3"

	"github.com/lockgen/lockgen/internal/testenv"
	"github.com/lockgen/lockgen/internal/testetcd"
	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/etcdstore"
)

// As many callers as there can be in one transaction, with the longest keys, have room in it: servers take 1.5 MiB. A busy
// machine may take its time for 600 KiB of names: who has no answer then has given up, and another round will do.
func TestTogether_longKeys(t *testing.T) {
	c := newCrowd(t)
	c.warm(long)
	for round := 0; ; round++ {
		var requests []lockrt.Request
		for i := range 140 {
			key := fmt.Sprintf("%d%s", i, strings.Repeat("/", 4096))[:4096]
			requests = append(requests, lockrt.Request{
				Key: key, ID: fmt.Sprint("id", round, "-", i), TTL: long, Wait: time.Minute,
			})
		}
		got, calls := c.all(requests)
		c.releaseAll(requests, got)
		if refused := c.calls.refusals(); len(refused) > 0 { // and its parts were asked for alone
			t.Fatalf("a transaction was refused: %v", refused[0])
		}
		c.calls.mu.Lock()
		widest := c.calls.widest
		c.calls.mu.Unlock()
		if t.Logf("%d transactions, the widest of %d parts", calls, widest); widest > 5 {
			return
		}
	}
}

// One of three servers is silent. Those who wait behind a transaction that went there do not wait for its end.
func TestTogether_silentServer(t *testing.T) {
	cluster := start(t, 3, testetcd.Options{})
	var lines []*testenv.Proxy
	var addrs []string
	for _, m := range cluster.Members {
		line := testenv.NewProxy(t, m.Addr())
		lines, addrs = append(lines, line), append(addrs, line.Addr())
	}
	client := cluster.client(t, addrs...)
	s, err := etcdstore.New(client, etcdstore.Config{}).Open(lockrt.SessionConfig{
		Namespace: "lock", Node: "crowd", Logger: slog.New(slog.DiscardHandler), Lost: func(string, error) {},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close(context.Background())
	kv := &gateKV{KV: client.KV, open: make(chan struct{})}
	close(kv.open)
	client.KV = kv
	c := &crowd{t, cluster, s, kv}
	c.warm(long)
	lines[0].Silence()
	for round := range 3 {
		var requests []lockrt.Request
		for i := range many {
			requests = append(requests, lockrt.Request{
				Key: fmt.Sprint("k", i), ID: fmt.Sprint("id", round, "-", i), TTL: long, Wait: time.Minute,
			})
		}
		began := time.Now()
		got := make([]outcome, many)
		together(many, func(i int) { got[i].grant, got[i].err = s.Acquire(t.Context(), requests[i]) })
		failed := c.releaseAll(requests, got) // they have come to the silent one three times
		if t.Logf("%d have their locks after %s", many-failed, time.Since(began)); failed > many/2 {
			t.Fatalf("%d of %d callers have no answer", failed, many)
		}
	}
	lines[0].Resume()
	var left []string
	eventually(t, "nothing is left", func() bool {
		r, err := cluster.client(t).Get(t.Context(), "lockgen/~lock/l/", etcd.WithPrefix(), etcd.WithKeysOnly())
		left = left[:0]
		if err == nil {
			for _, kv := range r.Kvs {
				left = append(left, string(kv.Key))
			}
		}
		return err == nil && len(left) == 0
	})
}

// together makes n calls at once. No gate holds them back, since it may be the silent server that keeps most of them from
// coming there.
func together(n int, call func(i int)) {
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { call(i) })
	}
	all.Wait()
}

// releaseAll gives back what callers got. It returns how many had no answer; nobody may have any other error.
func (c *crowd) releaseAll(requests []lockrt.Request, got []outcome) (failed int) {
	c.t.Helper()
	var held []lockrt.Release
	for i, o := range got {
		switch {
		case o.err == nil:
			held = append(held, lockrt.Release{Key: requests[i].Key, ID: requests[i].ID, Epoch: o.grant.Epoch})
		case !silent(o.err):
			c.t.Fatalf("caller %d: %v", i, o.err)
		default:
			failed++
		}
	}
	together(len(held), func(i int) { c.release(held[i]) })
	return failed
}

// release gives a lock back. It may have to be asked for twice: the first time may have gone to a silent server.
func (c *crowd) release(r lockrt.Release) {
	c.t.Helper()
	eventually(c.t, "the lock is released", func() bool {
		err := c.session.Release(c.t.Context(), r)
		return err == nil || errors.Is(err, lockrt.ErrLost)
	})
}
