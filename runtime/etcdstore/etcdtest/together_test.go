package etcdtest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	etcd "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/lockgen/lockgen/internal/testetcd"
	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/etcdstore"
)

// crowd is many callers of one session who come at the same time.
type crowd struct {
	t       *testing.T
	c       *cluster
	session lockrt.Session
	calls   *gateKV
}

// gateKV holds transactions up while it is closed, counts those that pass, and keeps the errors and how many parts the
// widest had that was answered.
type gateKV struct {
	etcd.KV

	mu     sync.Mutex
	open   chan struct{} // closed while they pass
	passed int
	failed []error
	widest int
}

func (k *gateKV) Txn(ctx context.Context) etcd.Txn {
	return &watchedTxn{Txn: k.KV.Txn(ctx), commit: func(txn etcd.Txn, thens []etcd.Op) (*etcd.TxnResponse, error) {
		r, err := pass(k, txn.Commit)
		if err == nil {
			k.mu.Lock()
			k.widest = max(k.widest, len(thens))
			k.mu.Unlock()
		}
		return r, err
	}}
}

// refusals are the errors that say more than that there was no answer, which a busy machine may be late with.
func (k *gateKV) refusals() (all []error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, err := range k.failed {
		switch status.Code(err) {
		case codes.DeadlineExceeded, codes.Canceled, codes.Unavailable:
		default:
			if !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, context.Canceled) {
				all = append(all, err)
			}
		}
	}
	return all
}

// Do is a release that goes alone.
func (k *gateKV) Do(ctx context.Context, op etcd.Op) (etcd.OpResponse, error) {
	return pass(k, func() (etcd.OpResponse, error) { return k.KV.Do(ctx, op) })
}

func pass[R any](k *gateKV, call func() (R, error)) (R, error) {
	k.mu.Lock()
	open := k.open
	k.passed++
	k.mu.Unlock()
	<-open
	r, err := call()
	if err != nil {
		k.mu.Lock()
		k.failed = append(k.failed, err)
		k.mu.Unlock()
	}
	return r, err
}

// shut closes the gate. What it returns opens it, and tells how many transactions came since it was shut.
func (k *gateKV) shut() (open func(), came func() int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	gate := make(chan struct{})
	k.open, k.passed = gate, 0
	return func() { close(gate) }, func() int {
		k.mu.Lock()
		defer k.mu.Unlock()
		return k.passed
	}
}

func newCrowd(t *testing.T) *crowd {
	t.Helper()
	return newCrowdIn(t, start(t, 1, testetcd.Options{}))
}

func newCrowdIn(t *testing.T, c *cluster) *crowd {
	t.Helper()
	client := c.client(t)
	kv := &gateKV{KV: client.KV, open: make(chan struct{})}
	close(kv.open)
	client.KV = kv
	s, err := etcdstore.New(client, etcdstore.Config{}).Open(lockrt.SessionConfig{
		Namespace: "lock", Node: "crowd", Logger: slog.New(slog.DiscardHandler), Lost: func(string, error) {},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close(context.Background()) })
	return &crowd{t, c, s, kv}
}

type outcome struct {
	grant lockrt.Grant
	err   error
}

// all makes the requests at the same time, and tells what became of them and how many transactions they took.
func (c *crowd) all(requests []lockrt.Request) ([]outcome, int) {
	c.t.Helper()
	got := make([]outcome, len(requests))
	calls := c.atOnce(len(requests), func(i int) {
		got[i].grant, got[i].err = c.session.Acquire(c.t.Context(), requests[i])
	})
	return got, calls
}

// atOnce makes n calls, of which many wait until the first are over.
func (c *crowd) atOnce(n int, call func(i int)) (calls int) {
	open, came := c.calls.shut()
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { call(i) })
	}
	for came() < min(n, 6) { // as many as go out before others are gathered
		time.Sleep(time.Millisecond)
	}
	time.Sleep(10 * time.Millisecond) // the others are on their way: if not, another round will do
	open()
	all.Wait()
	return came()
}

func (c *crowd) end(requests []lockrt.Request, got []outcome) (calls int) {
	c.t.Helper()
	var held []lockrt.Release
	for i, r := range requests {
		if got[i].err == nil {
			held = append(held, lockrt.Release{Key: r.Key, ID: r.ID, Epoch: got[i].grant.Epoch})
		}
	}
	return c.atOnce(len(held), func(i int) {
		if err := c.session.Release(c.t.Context(), held[i]); err != nil {
			c.t.Errorf("release %q: %v", held[i].Key, err)
		}
	})
}

// warm gives the session its classes: what follows takes as few transactions as there can be.
func (c *crowd) warm(ttls ...time.Duration) {
	c.t.Helper()
	for _, ttl := range ttls {
		r := []lockrt.Request{{Key: "warm", ID: fmt.Sprint("warm", ttl), TTL: ttl, Wait: time.Minute}}
		got, _ := c.all(r)
		if got[0].err != nil {
			c.t.Fatal(got[0].err)
		}
		c.end(r, got)
	}
}

const many = 60

// Callers with keys of their own share transactions, and each has a lock of its own.
func TestTogether(t *testing.T) {
	c := newCrowd(t)
	c.warm(long)
	fences := make(map[string]uint64)
	for round := 0; ; round++ {
		var requests []lockrt.Request
		for i := range many {
			requests = append(requests, lockrt.Request{
				Key: fmt.Sprint("k", i), ID: fmt.Sprint("id", round, "-", i), TTL: long, Wait: time.Minute,
			})
		}
		got, takes := c.all(requests)
		for i, o := range got {
			key := requests[i].Key
			if o.err != nil {
				t.Fatalf("%s: %v", key, o.err)
			}
			if o.grant.Epoch <= fences[key] {
				t.Errorf("%s: fence %d after %d", key, o.grant.Epoch, fences[key])
			}
			fences[key] = o.grant.Epoch
		}
		if n := len(c.contenders()); n != many {
			t.Errorf("%d locks are held, want %d", n, many)
		}
		frees := c.end(requests, got)
		if left := c.contenders(); len(left) > 0 {
			t.Fatalf("%q are left", left)
		}
		t.Logf("%d transactions to take %d locks, %d to release them", takes, many, frees)
		if takes < many/3 && frees < many/3 || t.Failed() {
			return
		}
	}
}

func (c *crowd) contenders() (left []*mvccpb.KeyValue) {
	c.t.Helper()
	r, err := c.c.client(c.t).Get(context.Background(), "lockgen/~lock/l/", etcd.WithPrefix())
	if err != nil {
		c.t.Fatal(err)
	}
	return r.Kvs
}

// Callers who try the same lock at the same moment do not get it both: what is written at one revision has no order.
func TestTogether_sameLock(t *testing.T) {
	c := newCrowd(t)
	c.warm(long)
	for round := 0; ; round++ {
		var requests []lockrt.Request
		for i := range many {
			requests = append(requests, lockrt.Request{
				Key: fmt.Sprint("k", i%4), ID: fmt.Sprint("id", round, "-", i), TTL: long,
			})
		}
		// All look first, and find the locks free.
		got, calls := c.all(requests)
		holders := make(map[string]int)
		for i, o := range got {
			if o.err == nil {
				holders[requests[i].Key]++
			} else if !errors.Is(o.err, lockrt.ErrBusy) {
				t.Fatalf("%s: %v", requests[i].Key, o.err)
			}
		}
		for key, n := range holders {
			if n > 1 {
				t.Fatalf("%d callers hold %q", n, key)
			}
		}
		c.end(requests, got)
		if left := c.contenders(); len(left) > 0 {
			t.Fatalf("%q are left", left)
		}
		if t.Logf("%d transactions, %d locks taken", calls, len(holders)); round >= 5 {
			return
		}
	}
}

// A lease of etcd's that is gone is the matter of those whose lock hangs on it.
func TestTogether_lostClass(t *testing.T) {
	c := newCrowd(t)
	other := 2 * long
	client := c.c.client(t)
	for round := 0; ; round++ {
		c.warm(long, other)
		var kept etcd.LeaseID
		r, err := client.Leases(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, lease := range r.Leases {
			info, err := client.TimeToLive(t.Context(), lease.ID)
			if err != nil {
				t.Fatal(err)
			}
			switch ttl := time.Duration(info.GrantedTTL) * time.Second; {
			case ttl >= long && ttl < other:
				kept = lease.ID
			case ttl >= other:
				if _, err := client.Revoke(t.Context(), lease.ID); err != nil {
					t.Fatal(err)
				}
			}
		}
		requests := make([]lockrt.Request, 0, many)
		for i := range many {
			r := lockrt.Request{Key: fmt.Sprint("k", i), ID: fmt.Sprint("id", round, "-", i), TTL: long, Wait: time.Minute}
			if i%5 == 4 {
				r.TTL = other
			}
			requests = append(requests, r)
		}
		got, calls := c.all(requests)
		for i, o := range got {
			if o.err != nil {
				t.Fatalf("%s: %v", requests[i].Key, o.err)
			}
		}
		hang := make(map[int64]int)
		for _, kv := range c.contenders() {
			hang[kv.Lease]++
		}
		if hang[int64(kept)] != many*4/5 || len(hang) != 2 {
			t.Fatalf("the locks hang on %v, want most on %d", hang, kept)
		}
		c.end(requests, got)
		if t.Logf("%d transactions", calls); round >= 5 {
			return
		}
	}
}
