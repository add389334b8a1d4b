package etcdtest

import (
	"context"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	etcd "go.etcd.io/etcd/client/v3"

	"github.com/lockgen/lockgen/internal/testetcd"
	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/etcdstore"
)

// oneIsSilent is three members that are asked in turn, the first of which does not answer.
type oneIsSilent struct {
	etcd.KV
	etcd.Lease
	from  atomic.Bool // it is silent from here on
	asked atomic.Int64
}

func (o *oneIsSilent) turn(ctx context.Context) error {
	if !o.from.Load() || o.asked.Add(1)%3 != 1 {
		return nil
	}
	<-ctx.Done()
	return ctx.Err()
}

func (o *oneIsSilent) KeepAliveOnce(ctx context.Context, id etcd.LeaseID) (*etcd.LeaseKeepAliveResponse, error) {
	if err := o.turn(ctx); err != nil {
		return nil, err
	}
	return o.Lease.KeepAliveOnce(ctx, id)
}

func (o *oneIsSilent) Get(ctx context.Context, key string, opts ...etcd.OpOption) (*etcd.GetResponse, error) {
	if err := o.turn(ctx); err != nil {
		return nil, err
	}
	return o.KV.Get(ctx, key, opts...)
}

func (o *oneIsSilent) Txn(ctx context.Context) etcd.Txn {
	return &watchedTxn{Txn: o.KV.Txn(ctx), commit: func(txn etcd.Txn, _ []etcd.Op) (*etcd.TxnResponse, error) {
		if err := o.turn(ctx); err != nil {
			return nil, err
		}
		return txn.Commit()
	}}
}

// A member is silent, and its connection not known as dead yet. A renewal comes to it more than once, and has its answer
// within the sixth of a TTL that it has: or a busy process would lose a lock of 10 s in those 8 s.
func TestSession_Renew_silentMember(t *testing.T) {
	const ttl = 10 * time.Second
	client := start(t, 1, testetcd.Options{}).client(t)
	servers := &oneIsSilent{KV: client.KV, Lease: client.Lease}
	client.KV, client.Lease = servers, servers
	s, err := etcdstore.New(client, etcdstore.Config{}).Open(lockrt.SessionConfig{
		Namespace: "lock", Logger: slog.New(slog.DiscardHandler), Lost: func(string, error) {},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close(context.Background())
	if _, err := s.Acquire(t.Context(), lockrt.Request{Key: "k", ID: "id", TTL: ttl, Wait: time.Minute}); err != nil {
		t.Fatal(err)
	}
	servers.from.Store(true)
	began := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), ttl/6)
	defer cancel()
	if err := s.Renew(ctx, []lockrt.Renewal{{Key: "k", ID: "id", TTL: ttl}})[0]; err != nil {
		t.Errorf("after %s and %d questions: %v", time.Since(began), servers.asked.Load(), err)
	}
	servers.from.Store(false)
	if err := s.Release(t.Context(), lockrt.Release{Key: "k", ID: "id"}); err != nil {
		t.Error(err)
	}
}
