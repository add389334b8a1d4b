package etcdtest

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	etcd "go.etcd.io/etcd/client/v3"

	"github.com/lockgen/lockgen/internal/testetcd"
	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/etcdstore"
)

// freeKV meets the next deletion of a contender that is asked for alone. Its caller hears that the server is away.
type freeKV struct {
	etcd.KV

	mu   sync.Mutex
	next func(arrive func()) // called once
}

func (k *freeKV) Do(ctx context.Context, op etcd.Op) (etcd.OpResponse, error) {
	k.mu.Lock()
	next := k.next
	if op.IsDelete() {
		k.next = nil
	}
	k.mu.Unlock()
	if !op.IsDelete() || next == nil {
		return k.KV.Do(ctx, op)
	}
	next(func() { _, _ = k.KV.Do(context.Background(), op) })
	return etcd.OpResponse{}, rpctypes.ErrTimeout
}

func (k *freeKV) meet(next func(arrive func())) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.next = next
}

func freeLocker(t *testing.T, c *cluster) (*lockrt.Locker, *freeKV) {
	t.Helper()
	client := c.client(t)
	kv := &freeKV{KV: client.KV}
	client.KV = kv
	locks, err := lockrt.New(etcdstore.New(client, etcdstore.Config{}), lockrt.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = locks.Close(context.Background()) })
	return locks, kv
}

// A deletion without an answer comes late. It does not meet a later lease, although the process uses names again.
func TestStore_lateDeletion(t *testing.T) {
	c := start(t, 1, testetcd.Options{})
	locks, kv := freeLocker(t, c)
	for range 5 {
		var arrive func()
		kv.meet(func(f func()) { arrive = f })
		release(t, acquire(t, locks, "k", lockrt.Options{TTL: long}))
		if arrive == nil {
			t.Fatal("the release did not delete by name")
		}
		later := acquire(t, locks, "k", lockrt.Options{TTL: long})
		arrive()
		if infos, err := locks.List(t.Context(), ""); err != nil || len(infos) != 1 {
			t.Fatalf("after a late deletion %d locks are held, error %v, want 1", len(infos), err)
		}
		if err := later.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// A lease that was broken is lost for a release whose deletion had no answer, too.
func TestStore_deletionOfABrokenLease(t *testing.T) {
	c := start(t, 1, testetcd.Options{})
	locks, kv := freeLocker(t, c)
	operator := newLocker(t, c, "operator", lockrt.Config{})
	for range 5 {
		lease := acquire(t, locks, "k", lockrt.Options{TTL: long})
		met := false
		kv.meet(func(arrive func()) {
			met = true
			if err := operator.Break(t.Context(), "k", "test"); err != nil {
				t.Error(err)
			}
			arrive()
		})
		if err := lease.Release(t.Context()); !errors.Is(err, lockrt.ErrLost) || !met {
			t.Fatalf("the release of a broken lease says %v, want ErrLost; its deletion was met: %t", err, met)
		}
		acquired, err := operator.Acquire(t.Context(), "k", lockrt.Options{TTL: long, Wait: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		release(t, acquired)
	}
}

// A lease is broken and its lock free while its deletion is on its way. That does not meet the next lease of the process.
func TestStore_deletionAfterABreak(t *testing.T) {
	c := start(t, 1, testetcd.Options{})
	locks, kv := freeLocker(t, c)
	operator := newLocker(t, c, "operator", lockrt.Config{})
	for range 5 {
		lease := acquire(t, locks, "k", lockrt.Options{TTL: long})
		var later *lockrt.Lease
		kv.meet(func(arrive func()) {
			if err := operator.Break(t.Context(), "k", "test"); err != nil {
				t.Error(err)
			}
			eventually(t, "the lock is free", func() bool {
				infos, err := operator.List(t.Context(), "")
				return err == nil && len(infos) == 0
			})
			var err error
			if later, err = locks.Acquire(t.Context(), "k", lockrt.Options{TTL: long, Wait: time.Minute}); err != nil {
				t.Error(err)
			}
			arrive()
		})
		if err := lease.Release(t.Context()); !errors.Is(err, lockrt.ErrLost) {
			t.Errorf("the release of a broken lease says %v, want ErrLost", err)
		}
		if err := later.Release(t.Context()); err != nil {
			t.Fatalf("the release of the later lease says %v", err)
		}
	}
}
