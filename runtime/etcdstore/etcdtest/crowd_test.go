package etcdtest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	etcd "go.etcd.io/etcd/client/v3"

	"github.com/lockgen/lockgen/internal/testetcd"
	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/etcdstore"
)

// readsKV counts how often etcd is asked to read all keys of a lock.
type readsKV struct {
	etcd.KV
	reads atomic.Int64
}

func (k *readsKV) Txn(ctx context.Context) etcd.Txn {
	return &watchedTxn{Txn: k.KV.Txn(ctx), commit: func(txn etcd.Txn, ops []etcd.Op) (*etcd.TxnResponse, error) {
		k.count(ops)
		return txn.Commit()
	}}
}

func (k *readsKV) count(ops []etcd.Op) {
	for _, op := range ops {
		if op.IsTxn() {
			_, thens, _ := op.Txn()
			k.count(thens)
		} else if op.IsGet() && len(op.RangeBytes()) > 0 {
			k.reads.Add(1)
		}
	}
}

// A crowd comes to a queue. To find the place of each, etcd reads all contenders, and sorts them: it is not asked to for each of
// them again and again, but for a few who look together.
func TestStore_crowdLooksTogether(t *testing.T) {
	c := start(t, 1, testetcd.Options{})
	client := c.client(t)
	kv := &readsKV{KV: client.KV}
	client.KV = kv
	s, err := etcdstore.New(client, etcdstore.Config{}).Open(lockrt.SessionConfig{
		Namespace: "crowd", Node: "a", Lost: func(string, error) {}, Logger: slog.New(slog.DiscardHandler),
		Held: func() []lockrt.HeldLease { return nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close(context.Background())
	if _, err := s.Acquire(t.Context(), lockrt.Request{Key: "k", ID: "holder", TTL: long}); err != nil {
		t.Fatal(err)
	}
	const crowd = 600
	ctx, leave := context.WithCancel(t.Context())
	var all sync.WaitGroup
	var stand, granted atomic.Int64
	for i := range crowd {
		all.Go(func() {
			var once sync.Once
			req := lockrt.Request{Key: "k", ID: fmt.Sprint("waiter", i), TTL: long, Wait: lockrt.Forever}
			req.Told = func(*lockrt.BusyError, error) { once.Do(func() { stand.Add(1) }) }
			_, err := s.Acquire(ctx, req)
			if err == nil {
				granted.Add(1)
				err = s.Release(t.Context(), lockrt.Release{Key: req.Key, ID: req.ID})
			}
			if err != nil && ctx.Err() == nil {
				t.Errorf("%s: %v", req.ID, err)
			}
		})
	}
	eventually(t, "all stand in the queue", func() bool { return stand.Load() == crowd })
	if reads := kv.reads.Load(); reads > 2*crowd {
		t.Errorf("etcd was asked %d times for all contenders, by a crowd of %d", reads, crowd)
	}
	_, err = s.Acquire(ctx, lockrt.Request{Key: "k", ID: "hurry", TTL: long, Wait: time.Millisecond})
	if err == nil || !errors.Is(err, lockrt.ErrBusy) && !silent(err) { // as on a busy machine
		t.Errorf("one of the crowd who has little time: %v, want ErrBusy", err)
	}
	if err := s.Release(t.Context(), lockrt.Release{Key: "k", ID: "holder"}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "some have had the lock", func() bool { return granted.Load() >= 20 })
	leave()
	all.Wait()
	if err := s.Close(t.Context()); err != nil {
		t.Error(err)
	}
	c.mustBeEmpty(t)
}
