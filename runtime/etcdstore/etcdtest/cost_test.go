package etcdtest

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	etcd "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"

	"github.com/lockgen/lockgen/internal/testetcd"
	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/etcdstore"
)

// counted is a Locker whose calls are counted, without keep-alives and what belongs to them.
func counted(t *testing.T, c *cluster) (*lockrt.Locker, *atomic.Int64) {
	t.Helper()
	calls := new(atomic.Int64)
	client, err := etcd.New(etcd.Config{
		Endpoints: c.Addrs(), Logger: zap.NewNop(),
		DialOptions: []grpc.DialOption{grpc.WithChainUnaryInterceptor(func(
			ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, next grpc.UnaryInvoker,
			o ...grpc.CallOption,
		) error {
			r, ok := req.(*pb.RangeRequest)
			if strings.HasPrefix(method, "/etcdserverpb.KV/") && !(ok && r.CountOnly) {
				calls.Add(1)
			}
			return next(ctx, method, req, reply, cc, o...)
		})},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	locks, err := lockrt.New(etcdstore.New(client, etcdstore.Config{}), lockrt.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = locks.Close(context.Background()) })
	return locks, calls
}

// A busy lock that is tried once costs one call and no entry in the log of etcd. A free one costs one call to take and
// one to release; to try it costs a read more.
func TestStore_cost(t *testing.T) {
	c := start(t, 1, testetcd.Options{})
	client := c.client(t)
	written := func() uint64 {
		s, err := client.Status(t.Context(), c.Members[0].Addr())
		if err != nil {
			t.Fatal(err)
		}
		return s.RaftIndex
	}
	locks, calls := counted(t, c)
	release(t, acquire(t, locks, "warm", lockrt.Options{TTL: long}))
	for _, tt := range []struct {
		name  string
		o     lockrt.Options
		calls int64
	}{
		{"acquire and release", lockrt.Options{TTL: long, Wait: lockrt.Forever}, 2},
		{"try and release", lockrt.Options{TTL: long}, 3},
	} {
		calls.Store(0)
		before := written()
		release(t, acquire(t, locks, "k", tt.o))
		if n := calls.Load(); n != tt.calls {
			t.Errorf("%s costs %d calls, want %d", tt.name, n, tt.calls)
		}
		if n := written() - before; n != 2 {
			t.Errorf("%s costs %d entries in the log, want 2", tt.name, n)
		}
	}
	other := newLocker(t, c, "other", lockrt.Config{})
	held := acquire(t, other, "k", lockrt.Options{TTL: long})
	calls.Store(0)
	before := written()
	const tries = 50
	for range tries {
		if _, err := locks.TryAcquire(t.Context(), "k", lockrt.Options{TTL: long}); !errors.Is(err, lockrt.ErrBusy) {
			t.Fatalf("the error is %v, want ErrBusy", err)
		}
	}
	if n := calls.Load(); n != tries {
		t.Errorf("%d tries of a busy lock cost %d calls", tries, n)
	}
	if n := written() - before; n != 0 {
		t.Errorf("%d tries of a busy lock cost %d entries in the log, want none", tries, n)
	}
	release(t, held)
}
