package etcdtest

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	etcd "go.etcd.io/etcd/client/v3"

	"github.com/lockgen/lockgen/internal/testetcd"
	lockrt "github.com/lockgen/lockgen/runtime"
)

// silentKV does not answer reads by themselves, or writes.
type silentKV struct {
	etcd.KV
	reads, writes atomic.Bool
}

func (k *silentKV) Get(ctx context.Context, key string, o ...etcd.OpOption) (*etcd.GetResponse, error) {
	if k.reads.Load() {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return k.KV.Get(ctx, key, o...)
}

func (k *silentKV) Txn(ctx context.Context) etcd.Txn {
	return &watchedTxn{Txn: k.KV.Txn(ctx), commit: func(txn etcd.Txn, ops []etcd.Op) (*etcd.TxnResponse, error) {
		if k.writes.Load() && writes(ops) {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		return txn.Commit()
	}}
}

func silentLocker(t *testing.T, c *cluster) (*silentKV, *lockrt.Locker) {
	client := c.client(t)
	kv := &silentKV{KV: client.KV}
	client.KV = kv
	return kv, strictLocker(t, client)
}

// waitsInTime makes an Acquire of a lock that somebody has. slow is what it takes that looks at the time of one question
// only.
func waitsInTime(t *testing.T, locks *lockrt.Locker, o lockrt.Options, slow time.Duration) {
	began := time.Now()
	_, err := locks.Acquire(context.Background(), "k", o)
	if took := time.Since(began); err == nil || took > (o.Wait+slow)/2 {
		t.Errorf("a wait of %s took %s: %v", o.Wait, took, err)
	}
}

// A waiter whose lease of etcd is gone stands in the queue again, where no write is answered.
func TestWait_joinsAgainInTime(t *testing.T) {
	c := start(t, 1, testetcd.Options{})
	h := newLocker(t, c, "h", lockrt.Config{})
	held := acquire(t, h, "k", lockrt.Options{TTL: 30 * 24 * time.Hour})
	raw := c.client(t)
	leases := func() map[etcd.LeaseID]bool {
		all, err := raw.Leases(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		of := make(map[etcd.LeaseID]bool)
		for _, l := range all.Leases {
			of[l.ID] = true
		}
		return of
	}
	others := leases()
	kv, locks := silentLocker(t, c)
	done := make(chan struct{})
	go func() {
		defer close(done)
		waitsInTime(t, locks, lockrt.Options{TTL: time.Second, Wait: 2 * time.Second}, 6*time.Second)
	}()
	eventually(t, "it waits", func() bool { return len(waiters(t, h, "k")) == 1 })
	kv.writes.Store(true)
	for id := range leases() {
		if !others[id] {
			_, _ = raw.Revoke(t.Context(), id)
		}
	}
	<-done
	kv.writes.Store(false)
	release(t, held)
}

// Who reads a lock beside others is asked for when it is busy, and that has no answer.
func TestWait_countsInTime(t *testing.T) {
	c := start(t, 1, testetcd.Options{})
	h := newLocker(t, c, "h", lockrt.Config{})
	held := acquire(t, h, "k", lockrt.Options{TTL: long, Mode: lockrt.Read})
	kv, locks := silentLocker(t, c)
	release(t, acquire(t, locks, "before", lockrt.Options{TTL: long}))
	kv.reads.Store(true)
	waitsInTime(t, locks, lockrt.Options{TTL: 20 * time.Second, Wait: 200 * time.Millisecond}, 1500*time.Millisecond)
	kv.reads.Store(false)
	release(t, held)
}
