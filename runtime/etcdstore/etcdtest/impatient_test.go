package etcdtest

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	etcd "go.etcd.io/etcd/client/v3"

	"github.com/lockgen/lockgen/internal/testetcd"
	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/etcdstore"
)

// lateServer is late with what a session needs before its first lock, until it is let go on. It counts how often it was
// asked for that.
type lateServer struct {
	etcd.KV
	etcd.Lease
	grants, generations bool // what it is late with
	goOn                chan struct{}
	asked               atomic.Int64
}

func (l *lateServer) wait(ctx context.Context) error {
	l.asked.Add(1)
	select {
	case <-l.goOn:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (l *lateServer) Grant(ctx context.Context, ttl int64) (*etcd.LeaseGrantResponse, error) {
	if l.grants {
		if err := l.wait(ctx); err != nil {
			return nil, err
		}
	}
	return l.Lease.Grant(ctx, ttl)
}

func (l *lateServer) Txn(ctx context.Context) etcd.Txn {
	return &watchedTxn{Txn: l.KV.Txn(ctx), commit: func(txn etcd.Txn, thens []etcd.Op) (*etcd.TxnResponse, error) {
		if l.generations && thens[0].IsPut() && isGeneration(string(thens[0].KeyBytes())) {
			if err := l.wait(ctx); err != nil {
				return nil, err
			}
		}
		return txn.Commit()
	}}
}

// The servers are so late that no caller has the time for what comes before its first lock. It is made all the same, and
// once.
func TestStore_impatientBeforeTheFirstLock(t *testing.T) {
	const callers = 5
	c := start(t, 1, testetcd.Options{})
	for name, late := range map[string]*lateServer{"grants": {grants: true}, "generations": {generations: true}} {
		t.Run(name, func(t *testing.T) {
			client := c.client(t)
			late.KV, late.Lease, late.goOn = client.KV, client.Lease, make(chan struct{})
			client.KV, client.Lease = late, late
			locks := strictLocker(t, client)
			for n := 0; n < callers; {
				ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
				_, err := locks.Acquire(ctx, "k", lockrt.Options{TTL: long, Wait: time.Minute})
				cancel()
				if err == nil {
					t.Fatal("acquired before anything was made")
				}
				if late.asked.Load() > 0 { // it has come so far
					n++
				}
			}
			if n := late.asked.Load(); n >= callers {
				t.Errorf("%d callers who had too little time have asked %d times, want once", callers, n)
			}
			close(late.goOn)
			release(t, acquire(t, locks, "k", lockrt.Options{TTL: long, Wait: time.Minute}))
		})
	}
}

// A crowd gives up together: what it leaves in the queue goes in few transactions, so that who comes next does not wait
// for it at a slow server.
func TestStore_crowdGivesUp(t *testing.T) {
	const many = 60
	c := start(t, 1, testetcd.Options{})
	holder := newLocker(t, c, "holder", lockrt.Config{})
	for i := range many {
		acquire(t, holder, fmt.Sprint("k", i), lockrt.Options{TTL: time.Minute})
	}
	client, watcher := c.client(t), c.client(t)
	kv := newSlowKV(t, client.KV, 0, 400)
	client.KV = kv
	locks := strictLocker(t, client)
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for i := range many {
		all.Go(func() {
			_, _ = locks.Acquire(ctx, fmt.Sprint("k", i), lockrt.Options{TTL: time.Minute, Wait: time.Hour})
		})
	}
	eventually(t, "all stand in the queue", func() bool {
		kv.mu.Lock()
		queued := kv.queued
		kv.mu.Unlock()
		return queued == 0 && contenders(t, watcher) == 2*many
	})
	kv.mu.Lock()
	kv.each = 20 * time.Millisecond
	before := kv.taken
	kv.mu.Unlock()
	cancel()
	all.Wait()
	eventually(t, "all have left it", func() bool { return contenders(t, watcher) == many })
	kv.mu.Lock()
	defer kv.mu.Unlock()
	kv.each = 0
	n := kv.taken - before
	t.Logf("%d who gave up were taken out of their queues in %d writes", many, n)
	if n > many/4 {
		t.Errorf("want a few writes")
	}
}

// mutedKV applies what puts a contender, and does not answer once it is muted. It holds back what deletes one alone, and
// counts the ends of generations.
type mutedKV struct {
	etcd.KV
	muted            atomic.Bool
	deletes          chan struct{} // closed when they may go on
	puts, held, ends atomic.Int64
}

func (k *mutedKV) Txn(ctx context.Context) etcd.Txn {
	return &watchedTxn{Txn: k.KV.Txn(ctx), commit: func(txn etcd.Txn, thens []etcd.Op) (*etcd.TxnResponse, error) {
		contender := strings.Contains(string(thens[0].KeyBytes()), "/l/")
		switch {
		case slices.ContainsFunc(thens, endsGeneration):
			k.ends.Add(1)
		case contender && thens[0].IsDelete():
			k.held.Add(1)
			<-k.deletes
		case contender && thens[0].IsPut() && k.muted.Load():
			if _, err := txn.Commit(); err != nil {
				return nil, err
			}
			k.puts.Add(1)
			<-ctx.Done()
			return nil, ctx.Err()
		}
		return txn.Commit()
	}}
}

// endsGeneration reports whether a part of a transaction ends a generation, which it does if that is the present one.
func endsGeneration(op etcd.Op) bool {
	if !op.IsTxn() {
		return false
	}
	_, thens, _ := op.Txn()
	return len(thens) == 1 && thens[0].IsDelete() && isGeneration(string(thens[0].KeyBytes()))
}

// Requests of a crowd have no answer, and all give them up together. The generation ends once for all of them, and not once
// for each.
func TestStore_crowdInDoubt(t *testing.T) {
	const many = 20
	c := start(t, 1, testetcd.Options{})
	holder := newLocker(t, c, "holder", lockrt.Config{})
	acquire(t, holder, "held", lockrt.Options{TTL: time.Minute})
	client, watcher := c.client(t), c.client(t)
	kv := &mutedKV{KV: client.KV, deletes: make(chan struct{})}
	client.KV = kv
	locks := strictLocker(t, client)
	var first, crowd sync.WaitGroup
	short, leave := context.WithCancel(t.Context())
	o := lockrt.Options{TTL: time.Minute, Wait: time.Hour}
	first.Go(func() { _, _ = locks.Acquire(short, "held", o) })
	eventually(t, "one stands in the queue", func() bool { return len(waiters(t, holder, "held")) == 1 })
	kv.muted.Store(true)
	ctx, cancel := context.WithCancel(t.Context())
	o.Permits = 2 // these do not share transactions
	for i := range many {
		crowd.Go(func() { _, _ = locks.Acquire(ctx, fmt.Sprint("k", i), o) })
	}
	eventually(t, "some requests are under way", func() bool { return kv.puts.Load() >= 8 })
	leave()
	first.Wait()
	eventually(t, "it is being deleted", func() bool { return kv.held.Load() > 0 })
	cancel()
	crowd.Wait()
	close(kv.deletes)
	eventually(t, "all are taken back", func() bool { return contenders(t, watcher) == 1 })
	if n := kv.ends.Load(); n == 0 || n > 3 {
		t.Errorf("a generation was ended %d times after %d requests without an answer", n, kv.puts.Load())
	}
}

// strictLocker opens a Locker on a client of the test's own, in which every caller asks the servers for itself.
func strictLocker(t *testing.T, client *etcd.Client) *lockrt.Locker {
	t.Helper()
	locks, err := lockrt.New(etcdstore.New(client, etcdstore.Config{}), lockrt.Config{
		LocalHandoffs: -1, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = locks.Close(context.Background()) })
	return locks
}
