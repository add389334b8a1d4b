package etcdtest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	etcd "go.etcd.io/etcd/client/v3"

	"github.com/lockgen/lockgen/internal/testenv"
	"github.com/lockgen/lockgen/internal/testetcd"
	"github.com/lockgen/lockgen/internal/testsync"
	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/etcdstore"
)

// forgetfulKV does the transactions that put a contender, and loses as many of a hundred of their answers as it is told.
type forgetfulKV struct {
	etcd.KV
	percent atomic.Int64
}

func (k *forgetfulKV) Txn(ctx context.Context) etcd.Txn {
	return &watchedTxn{Txn: k.KV.Txn(ctx), commit: func(txn etcd.Txn, ops []etcd.Op) (*etcd.TxnResponse, error) {
		r, err := txn.Commit()
		if slices.ContainsFunc(ops, putsContender) && rand.Int64N(100) < k.percent.Load() {
			return nil, rpctypes.ErrTimeout
		}
		return r, err
	}}
}

func putsContender(op etcd.Op) bool {
	if op.IsTxn() {
		_, thens, _ := op.Txn()
		return slices.ContainsFunc(thens, putsContender)
	}
	return op.IsPut() && strings.Contains(string(op.KeyBytes()), "/l/")
}

func forgetful(t *testing.T, c *cluster) (*forgetfulKV, *lockrt.Locker) {
	client := c.client(t)
	kv := &forgetfulKV{KV: client.KV}
	client.KV = kv
	locks, err := lockrt.New(etcdstore.New(client, etcdstore.Config{}), lockrt.Config{
		Node: "a", Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = locks.Close(context.Background()) })
	return kv, locks
}

// An Extend is done, and its caller never hears of it. The contender belongs to another lease of etcd then: renewals go on
// with that one, and it is kept for as long as the lock is held, a minute without other users later, too.
func TestStore_extendWithoutAnswer(t *testing.T) {
	c := start(t, 1, testetcd.Options{})
	for name, test := range map[string]struct {
		o       lockrt.Options
		extend  time.Duration
		patient time.Duration
	}{
		"renewed":     {lockrt.Options{TTL: 3 * time.Second}, 10 * time.Second, 7 * time.Second},
		"not renewed": {lockrt.Options{TTL: 90 * time.Second, NoRenew: true}, 95 * time.Second, 75 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // it waits more than it works
			kv, locks := forgetful(t, c)
			held := acquire(t, locks, name, test.o)
			kv.percent.Store(100)
			ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
			defer cancel()
			if err := held.Extend(ctx, test.extend); err == nil {
				t.Fatal("the answer was not lost")
			}
			kv.percent.Store(0)
			select {
			case <-held.Done():
				t.Errorf("lost: %v", held.Err())
			case <-time.After(test.patient):
			}
			if err := held.Check(t.Context()); err != nil {
				t.Errorf("the store says: %v", err)
			}
			release(t, held)
		})
	}
}

// Several calls make a lease longer at the same time, and one makes it a reader's, while answers are lost. Whichever of them
// are done, the lease goes on.
func TestStore_extendsBesideEachOther(t *testing.T) {
	t.Parallel() // it waits more than it works
	kv, locks := forgetful(t, start(t, 1, testetcd.Options{}))
	kv.percent.Store(30)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	var callers sync.WaitGroup
	for i := range 10 {
		callers.Go(func() {
			for ctx.Err() == nil {
				held, err := locks.Acquire(ctx, fmt.Sprint("k", i), lockrt.Options{TTL: 2 * time.Second, Wait: lockrt.Forever})
				if err != nil {
					continue
				}
				var calls sync.WaitGroup
				for range 2 {
					calls.Go(func() { _ = held.Extend(ctx, 2*time.Second+rand.N(8*time.Second)) })
				}
				_ = held.Downgrade(ctx)
				calls.Wait()
				select {
				case <-held.Done():
					t.Errorf("lost: %v", held.Err())
				case <-time.After(4 * time.Second):
				}
				_ = held.Release(context.Background())
			}
		})
	}
	callers.Wait()
	kv.percent.Store(0)
}

// A process is cut off, and its lease ends at its deadline. Then the way is open again, and it closes. Its lease of etcd,
// which it has kept alive until then, ends with it.
func TestStore_Close_afterItWasCutOff(t *testing.T) {
	t.Parallel() // it waits more than it works
	c := start(t, 1, testetcd.Options{})
	line := testenv.NewProxy(t, c.Members[0].Addr())
	locks, others := newLocker(t, c, "a", lockrt.Config{}, line.Addr()), newLocker(t, c, "b", lockrt.Config{})
	held := acquire(t, locks, "k", lockrt.Options{TTL: 10 * time.Second})
	line.Silence()
	<-held.Done()
	line.Resume()
	if err := locks.Close(t.Context()); err != nil {
		t.Errorf("close: %v", err)
	}
	if _, err := others.Holder(t.Context(), "k"); err == nil {
		t.Error("the lock is held by a Locker that is closed")
	}
}

// countingKV counts what contenders cost.
type countingKV struct {
	etcd.KV
	reads, changes atomic.Int64
}

func (k *countingKV) Get(ctx context.Context, key string, opts ...etcd.OpOption) (*etcd.GetResponse, error) {
	if strings.Contains(key, "/l/") {
		k.reads.Add(1)
	}
	return k.KV.Get(ctx, key, opts...)
}

func (k *countingKV) Txn(ctx context.Context) etcd.Txn {
	return &watchedTxn{Txn: k.KV.Txn(ctx), commit: func(txn etcd.Txn, ops []etcd.Op) (*etcd.TxnResponse, error) {
		if writes(ops) {
			k.changes.Add(1)
		}
		return txn.Commit()
	}}
}

// A lease that was made longer costs each renewal no more than another: within its class, with a part of a microsecond, and
// in another class.
func TestSession_Renew_afterAnExtend(t *testing.T) {
	client := start(t, 1, testetcd.Options{}).client(t)
	kv := &countingKV{KV: client.KV}
	client.KV = kv
	s, err := etcdstore.New(client, etcdstore.Config{}).Open(lockrt.SessionConfig{
		Namespace: "lock", Logger: slog.New(slog.DiscardHandler), Lost: func(string, error) {},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close(context.Background())
	for _, longer := range []time.Duration{2200 * time.Millisecond, 2200*time.Millisecond + 1, 20 * time.Second} {
		id := longer.String()
		if _, err := s.Acquire(t.Context(), lockrt.Request{Key: id, ID: id, TTL: 2 * time.Second, Wait: time.Minute}); err != nil {
			t.Fatal(err)
		}
		renew := func() {
			t.Helper()
			if err := s.Renew(t.Context(), []lockrt.Renewal{{Key: id, ID: id, TTL: longer}})[0]; err != nil {
				t.Error(err)
			}
		}
		renew()
		renew()
		reads, changes := kv.reads.Load(), kv.changes.Load()
		for range 5 {
			renew()
		}
		if more, changed := kv.reads.Load()-reads, kv.changes.Load()-changes; more > 0 || changed > 0 {
			t.Errorf("5 renewals to %s cost %d reads and %d changes of their own", longer, more, changed)
		}
		if err := s.Release(t.Context(), lockrt.Release{Key: id, ID: id}); err != nil {
			t.Error(err)
		}
	}
}

// The lease of etcd is lost that a lock belonged to before an Extend without an answer. The lock belongs to another one by then,
// and is given back with what the holder has lost.
func TestStore_extendWithoutAnswer_lostClass(t *testing.T) {
	c := start(t, 1, testetcd.Options{})
	kv, locks := forgetful(t, c)
	others := newLocker(t, c, "b", lockrt.Config{})
	before := leasesOf(t, c)
	held := acquire(t, locks, "k", lockrt.Options{TTL: 8 * time.Second, NoRenew: true})
	made := leasesOf(t, c)
	kv.percent.Store(100)
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if err := held.Extend(ctx, 20*time.Second); err == nil {
		t.Fatal("the answer was not lost")
	}
	kv.percent.Store(0)
	for id := range made {
		if !before[id] {
			_, _ = c.client(t).Revoke(t.Context(), id)
		}
	}
	<-held.Done()
	release(t, acquire(t, others, "k", lockrt.Options{TTL: long, Wait: 20 * time.Second}))
}

// hearingLease tells when etcd has said that it has forgotten a lease.
type hearingLease struct {
	etcd.Lease
	heard func()
}

func (l *hearingLease) KeepAliveOnce(ctx context.Context, id etcd.LeaseID) (*etcd.LeaseKeepAliveResponse, error) {
	said, err := l.Lease.KeepAliveOnce(ctx, id)
	if errors.Is(err, rpctypes.ErrLeaseNotFound) {
		l.heard()
	}
	return said, err
}

// A lock may have been moved by an Extend without an answer to a lease of etcd that is revoked. Its holder is told when
// the process hears of that, also if the servers say nothing more: somebody else may have it.
func TestStore_extendWithoutAnswer_lostNewClass(t *testing.T) {
	t.Parallel() // it waits more than it works
	c := start(t, 1, testetcd.Options{})
	line := testenv.NewProxy(t, c.Members[0].Addr())
	client := c.client(t, line.Addr())
	kv := &forgetfulKV{KV: client.KV}
	client.KV, client.Lease = kv, &hearingLease{client.Lease, line.Silence}
	locks, err := lockrt.New(etcdstore.New(client, etcdstore.Config{}), lockrt.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = locks.Close(context.Background()) }()
	defer line.Resume()
	held := acquire(t, locks, "k", lockrt.Options{TTL: 45 * time.Second, NoRenew: true})
	before := leasesOf(t, c)
	kv.percent.Store(100)
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if err := held.Extend(ctx, 70*time.Second); err == nil {
		t.Fatal("the answer was not lost")
	}
	kv.percent.Store(0)
	for id := range leasesOf(t, c) {
		if !before[id] {
			_, _ = c.client(t).Revoke(t.Context(), id)
		}
	}
	deadline := held.Deadline()
	<-held.Done()
	if left := time.Until(deadline); left < time.Second {
		t.Errorf("the holder was told at its own deadline (%s before it)", left)
	}
}

// Somebody has revoked the lease of etcd to which many contenders are moved at once. Nobody loses a lock who was not moved yet.
func TestStore_extendIntoARevokedClass(t *testing.T) {
	c := start(t, 1, testetcd.Options{})
	client, locks := c.client(t), newLocker(t, c, "a", lockrt.Config{})
	for round := range 3 {
		var leases []*lockrt.Lease
		for i := range 20 {
			leases = append(leases, acquire(t, locks, fmt.Sprint(round, ".", i), lockrt.Options{TTL: 8 * time.Second}))
		}
		before := leasesOf(t, c)
		release(t, acquire(t, locks, "x", lockrt.Options{TTL: time.Duration(30+20*round) * time.Second})) // makes the class
		for id := range leasesOf(t, c) {
			if !before[id] {
				if _, err := client.Revoke(t.Context(), id); err != nil {
					t.Fatal(err)
				}
			}
		}
		var all sync.WaitGroup
		for _, lease := range leases {
			all.Go(func() {
				if err := lease.Extend(t.Context(), time.Duration(30+20*round)*time.Second); err != nil {
					t.Errorf("round %d: %v", round, err)
				}
			})
		}
		all.Wait()
		for _, lease := range leases {
			if err := lease.Check(t.Context()); err != nil {
				t.Errorf("round %d: %v", round, err)
			}
			release(t, lease)
		}
	}
}

// Waiters leave their places to Close, which gives up once, and not for each thing that is left.
func TestStore_Close_silentWithWaiters(t *testing.T) {
	c := start(t, 1, testetcd.Options{})
	line := testenv.NewProxy(t, c.Members[0].Addr())
	others := newLocker(t, c, "b", lockrt.Config{})
	locks, err := lockrt.New(etcdstore.New(c.client(t, line.Addr()), etcdstore.Config{}), lockrt.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	var waiting sync.WaitGroup
	for i := range 10 {
		key := fmt.Sprint("k", i)
		acquire(t, others, key, lockrt.Options{TTL: long})
		waiting.Go(func() {
			_, err := locks.Acquire(context.Background(), key, lockrt.Options{TTL: long, Wait: time.Minute})
			if !errors.Is(err, lockrt.ErrClosed) {
				t.Errorf("a waiter: %v, want ErrClosed", err)
			}
		})
	}
	testsync.Eventually(t, "all wait", func() bool { return len(locksOf(t, c)) == 20 })
	line.Silence()
	began := time.Now()
	_ = locks.Close(context.Background())
	if took := time.Since(began); took > 9*time.Second { // one limit is 5 s
		t.Errorf("Close took %s", took)
	}
	waiting.Wait()
}

func leasesOf(t *testing.T, c *cluster) map[etcd.LeaseID]bool {
	t.Helper()
	said, err := c.client(t).Leases(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ids := make(map[etcd.LeaseID]bool)
	for _, l := range said.Leases {
		ids[l.ID] = true
	}
	return ids
}
