package etcdstore

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	etcd "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"

	"github.com/lockgen/lockgen/internal/testsync"
	lockrt "github.com/lockgen/lockgen/runtime"
)

// overtaken is a line on which the first transaction that puts a contender of the lock k is overtaken by others: before it comes
// to the servers, or when it is done there, before its answer.
type overtaken struct {
	*fakeLine
	before, answer func(lease int64)
	once           atomic.Bool
}

func (x *overtaken) Txn(ctx context.Context, r *pb.TxnRequest, o ...grpc.CallOption) (*pb.TxnResponse, error) {
	lease := leaseOf(r, "/k/")
	if lease == 0 || x.before == nil && x.answer == nil || !x.once.CompareAndSwap(false, true) {
		return x.fakeLine.Txn(ctx, r, o...)
	}
	type answer struct {
		r   *pb.TxnResponse
		err error
	}
	said := make(chan answer, 1)
	go func() { // also when the caller has left
		if x.before != nil {
			x.before(lease)
		}
		out, err := x.fakeLine.Txn(context.WithoutCancel(ctx), r)
		if x.answer != nil {
			x.answer(lease)
		}
		said <- answer{out, err}
	}()
	select {
	case a := <-said:
		return a.r, a.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// leaseOf is the lease of etcd under which a transaction puts a key; 0: it puts none like that.
func leaseOf(r *pb.TxnRequest, key string) int64 {
	for _, op := range r.Success {
		if p := op.GetRequestPut(); p != nil && strings.Contains(string(p.Key), key) {
			return p.Lease
		}
		if x := op.GetRequestTxn(); x != nil {
			if lease := leaseOf(x, key); lease != 0 {
				return lease
			}
		}
	}
	return 0
}

func newOvertaken(t *testing.T, e *fakeEtcd) (*rehoused, *overtaken) {
	t.Helper()
	x := &overtaken{fakeLine: newFakeLine(e)}
	store := x.store()
	store.client.KV = etcd.NewKVFromKVClient(x, nil)
	return newRehousedIn(t, store, x.fakeLine), x
}

// An Extend overtakes the rehousing of its lease. What was on its way refuses itself then, and holds up nothing.
func TestRehouse_overtaken(t *testing.T) {
	for _, late := range []time.Duration{20 * time.Millisecond, 100 * time.Millisecond, 400 * time.Millisecond} {
		testsync.Bubble(t, func(t *testing.T) {
			newLimits()
			defer newLimits()
			e := newFakeEtcd()
			n, x := newOvertaken(t, e)
			lease := n.acquire(t, "k", lockrt.Options{TTL: 10 * time.Second})
			other := n.acquire(t, "other", lockrt.Options{TTL: 50 * time.Second})
			time.Sleep(5 * time.Second)
			under := make(chan struct{})
			x.before = func(int64) {
				close(under)
				time.Sleep(late)
			}
			e.elect()
			<-under
			for range 3 {
				began := time.Now()
				if err := lease.Extend(t.Context(), 50*time.Second); err != nil || time.Since(began) > time.Second {
					t.Errorf("late by %s: after %s: %v", late, time.Since(began), err)
				}
				time.Sleep(30 * time.Second)
			}
			n.release(lease, other)
			n.close(t)
			time.Sleep(3 * time.Minute)
		})
	}
}

// etcd forgets the lease under which a waiter has come in, before it hears that, and another caller finds out. The waiter joins
// again, and nobody else takes its contender for theirs.
func TestAcquire_classGoneBeforeTheAnswer(t *testing.T) {
	testsync.Bubble(t, func(t *testing.T) {
		newLimits()
		defer newLimits()
		e := newFakeEtcd()
		n, x := newOvertaken(t, e)
		other := newRehoused(t, e)
		x.answer = func(lease int64) {
			_ = e.end(lease, true)
			n.release(n.acquire(t, "third", lockrt.Options{TTL: 10 * time.Second}))
		}
		lease := n.acquire(t, "k", lockrt.Options{TTL: 10 * time.Second, Wait: time.Minute})
		time.Sleep(time.Second)
		for _, locks := range []*lockrt.Locker{n.locks, other.locks} {
			_, err := locks.Acquire(t.Context(), "k", lockrt.Options{TTL: 10 * time.Second, Mode: lockrt.Read})
			if err == nil {
				t.Error("two hold it")
			}
			time.Sleep(100 * time.Millisecond)
		}
		time.Sleep(20 * time.Second)
		if err := lease.Err(); err != nil {
			t.Error(err)
		}
		n.release(lease)
		n.close(t)
		other.close(t)
		time.Sleep(time.Minute)
	})
}

// lateMove is a line on which the first transaction that moves the contender of the lock k is late once it is armed, or all are
// lost as long as it is.
type lateMove struct {
	*fakeLine
	armed, lost atomic.Bool
	sent        chan struct{}
	once        sync.Once
}

func (x *lateMove) Txn(ctx context.Context, r *pb.TxnRequest, o ...grpc.CallOption) (*pb.TxnResponse, error) {
	moves := len(r.Compare) == 1 && r.Compare[0].Target == pb.Compare_MOD && leaseOf(r, "/k/") != 0
	if !moves || !x.armed.CompareAndSwap(true, x.lost.Load()) {
		return x.fakeLine.Txn(ctx, r, o...)
	}
	x.once.Do(func() { close(x.sent) })
	if !x.lost.Load() {
		time.AfterFunc(300*time.Millisecond, func() { _, _ = x.fakeLine.Txn(context.Background(), r) })
	}
	<-ctx.Done()
	return nil, ctx.Err()
}

// A place in the queue goes to a caller with another TTL, who gives up while it is moved to another lease of etcd, and then to one
// with the TTL of the first. That one's lock is not moved under it.
func TestAcquire_placeMovedLate(t *testing.T) {
	for _, ttls := range [][2]time.Duration{{10 * time.Minute, 10 * time.Second}, {10 * time.Minute, 20 * time.Minute}} {
		testsync.Bubble(t, func(t *testing.T) {
			newLimits()
			defer newLimits()
			e := newFakeEtcd()
			other := newRehoused(t, e)
			x := &lateMove{fakeLine: newFakeLine(e), sent: make(chan struct{})}
			store := x.store()
			store.client.KV = etcd.NewKVFromKVClient(x, nil)
			locks, err := lockrt.New(store, lockrt.Config{Logger: slog.New(slog.DiscardHandler)})
			if err != nil {
				t.Fatal(err)
			}
			n := &rehoused{locks, x.fakeLine}
			first := other.acquire(t, "k", lockrt.Options{TTL: 20 * time.Second})
			queue := func(ctx context.Context, ttl time.Duration) <-chan *lockrt.Lease {
				got := make(chan *lockrt.Lease, 1)
				go func() {
					lease, _ := locks.Acquire(ctx, "k", lockrt.Options{TTL: ttl, Wait: time.Hour, NoRenew: true})
					got <- lease
				}()
				time.Sleep(time.Second)
				return got
			}
			one, leave := context.WithCancel(t.Context())
			two, leaveToo := context.WithCancel(t.Context())
			defer leaveToo()
			a, b, c := queue(one, ttls[0]), queue(two, ttls[1]), queue(t.Context(), ttls[0])
			x.armed.Store(true)
			leave()
			<-a
			<-x.sent
			time.Sleep(50 * time.Millisecond)
			leaveToo()
			<-b
			time.Sleep(2 * time.Second)
			other.release(first)
			lease := <-c
			for lease.Err() == nil {
				time.Sleep(time.Second)
				next, err := other.locks.Acquire(t.Context(), "k", lockrt.Options{TTL: 10 * time.Second})
				if err != nil {
					continue
				}
				if lease.Err() == nil {
					t.Errorf("TTLs %s: two hold it, one until %s from now", ttls, time.Until(lease.Deadline()))
				}
				other.release(next)
				break
			}
			n.release(lease)
			n.close(t)
			other.close(t)
			time.Sleep(time.Minute)
		})
	}
}

// opened remembers the session that a Locker opens.
type opened struct {
	*Store
	session *session
}

func (o *opened) Open(cfg lockrt.SessionConfig) (lockrt.Session, error) {
	s, err := o.Store.Open(cfg)
	if err == nil {
		o.session = s.(*session)
	}
	return s, err
}

// The lease of etcd of a waiter was given up by mistake, and it is not moved from there in time. When it is let in, it is under
// the one by which its grant is counted.
func TestAcquire_classGivenUpByMistake(t *testing.T) {
	for _, lost := range []bool{false, true} {
		testsync.Bubble(t, func(t *testing.T) {
			newLimits()
			defer newLimits()
			e := newFakeEtcd()
			other := newRehoused(t, e)
			x := &lateMove{fakeLine: newFakeLine(e), sent: make(chan struct{})}
			x.lost.Store(lost)
			store := &opened{Store: x.store()}
			store.client.KV = etcd.NewKVFromKVClient(x, nil)
			locks, err := lockrt.New(store, lockrt.Config{Logger: slog.New(slog.DiscardHandler)})
			if err != nil {
				t.Fatal(err)
			}
			n := &rehoused{locks, x.fakeLine}
			first := other.acquire(t, "k", lockrt.Options{TTL: 10 * time.Second})
			got := make(chan *lockrt.Lease, 1)
			const ttl = 2 * time.Minute
			go func() {
				lease, _ := locks.Acquire(context.Background(), "k", lockrt.Options{TTL: ttl, Wait: time.Hour, NoRenew: true})
				got <- lease
			}()
			time.Sleep(time.Second)
			x.armed.Store(true)
			s := store.session
			s.mu.Lock()
			c := s.classes[classFor(ttl)]
			s.mu.Unlock()
			s.lose(c, nil)
			<-x.sent
			time.Sleep(2 * callTime)
			x.armed.Store(false)
			other.release(first)
			lease := <-got
			under := func() etcd.LeaseID {
				e.mu.Lock()
				defer e.mu.Unlock()
				for key, kv := range e.keys {
					if strings.Contains(key, "/k/") {
						return etcd.LeaseID(kv.Lease)
					}
				}
				return 0
			}
			s.mu.Lock()
			for _, h := range s.leases {
				if has := under(); has != h.class.id || has == c.id {
					t.Errorf("lost: %t: it is under %d, and is counted by %d", lost, has, h.class.id)
				}
			}
			s.mu.Unlock()
			n.release(lease)
			n.close(t)
			other.close(t)
			time.Sleep(5 * time.Minute)
		})
	}
}
