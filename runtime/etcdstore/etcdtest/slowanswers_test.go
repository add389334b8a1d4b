package etcdtest

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	etcd "go.etcd.io/etcd/client/v3"

	"github.com/lockgen/lockgen/internal/testetcd"
	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/etcdstore"
)

// lateServers answer everything that is not a watch late.
type lateServers struct {
	etcd.KV
	etcd.Lease
	by atomic.Int64 // by how much
}

func (l *lateServers) late(ctx context.Context) error {
	select {
	case <-time.After(time.Duration(l.by.Load())):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (l *lateServers) KeepAliveOnce(ctx context.Context, id etcd.LeaseID) (*etcd.LeaseKeepAliveResponse, error) {
	r, err := l.Lease.KeepAliveOnce(ctx, id)
	if late := l.late(ctx); late != nil {
		return nil, late
	}
	return r, err
}

func (l *lateServers) Get(ctx context.Context, key string, opts ...etcd.OpOption) (*etcd.GetResponse, error) {
	r, err := l.KV.Get(ctx, key, opts...)
	if late := l.late(ctx); late != nil {
		return nil, late
	}
	return r, err
}

func (l *lateServers) Txn(ctx context.Context) etcd.Txn {
	return &watchedTxn{Txn: l.KV.Txn(ctx), commit: func(txn etcd.Txn, _ []etcd.Op) (*etcd.TxnResponse, error) {
		r, err := txn.Commit()
		if late := l.late(ctx); late != nil {
			return nil, late
		}
		return r, err
	}}
}

// Each answer comes late. A renewal is one of them, for signs of life are given beside it: it takes as long as the servers,
// and no more. With three in turn the leases would be lost.
func TestStore_answersAreLate(t *testing.T) {
	c := start(t, 1, testetcd.Options{})
	for _, test := range []struct{ ttl, late time.Duration }{
		{3 * time.Second, 400 * time.Millisecond},
		{5 * time.Second, 600 * time.Millisecond},
		{10 * time.Second, 1200 * time.Millisecond},
	} {
		t.Run(fmt.Sprint(test.ttl), func(t *testing.T) {
			t.Parallel() // it waits more than it works
			client := c.client(t)
			servers := &lateServers{KV: client.KV, Lease: client.Lease}
			client.KV, client.Lease = servers, servers
			locks, err := lockrt.New(etcdstore.New(client, etcdstore.Config{}), lockrt.Config{Node: "a"})
			if err != nil {
				t.Fatal(err)
			}
			held := acquire(t, locks, "k", lockrt.Options{TTL: test.ttl, Wait: time.Minute})
			servers.by.Store(int64(test.late))
			select {
			case <-held.Done():
				t.Errorf("lost: %v", held.Err())
			case <-time.After(2 * test.ttl):
			}
			servers.by.Store(0)
			release(t, held)
			if err := locks.Close(context.Background()); err != nil {
				t.Error(err)
			}
		})
	}
}
