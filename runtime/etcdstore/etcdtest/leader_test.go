package etcdtest

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	etcd "go.etcd.io/etcd/client/v3"

	"github.com/lockgen/lockgen/internal/testetcd"
	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/etcdstore"
)

// oldLeader answers signs of life as a leader does that has been replaced and does not know it.
type oldLeader struct {
	etcd.Lease
	term uint64
	on   atomic.Bool
}

func (o *oldLeader) KeepAliveOnce(ctx context.Context, id etcd.LeaseID) (*etcd.LeaseKeepAliveResponse, error) {
	if !o.on.Load() {
		return o.Lease.KeepAliveOnce(ctx, id)
	}
	return &etcd.LeaseKeepAliveResponse{ResponseHeader: &pb.ResponseHeader{RaftTerm: o.term}, ID: id, TTL: 1000}, nil
}

// A sign of life that only a former leader has heard does not count: the present one gives the lock to somebody else.
func TestStore_oldLeader(t *testing.T) {
	c := start(t, 1, testetcd.Options{})
	client := c.client(t)
	status, err := client.Status(t.Context(), c.Members[0].Addr())
	if err != nil {
		t.Fatal(err)
	}
	old := &oldLeader{Lease: client.Lease, term: status.RaftTerm - 1}
	client.Lease = old
	a, err := lockrt.New(etcdstore.New(client, etcdstore.Config{}), lockrt.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Close(context.Background()) })
	held := acquire(t, a, "k", lockrt.Options{TTL: 1200 * time.Millisecond})
	old.on.Store(true)
	next := acquire(t, newLocker(t, c, "b", lockrt.Config{}), "k", lockrt.Options{TTL: long, Wait: time.Minute})
	if held.Err() == nil {
		t.Error("the lock has two holders")
	}
	release(t, next)
}
