package etcdtest

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	etcd "go.etcd.io/etcd/client/v3"

	"github.com/lockgen/lockgen/internal/testetcd"
	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/etcdstore"
)

// lateKV holds back transactions that put a contender, as many as it is told. Their callers hear that the server is
// away. It may let something else happen first.
type lateKV struct {
	etcd.KV

	mu    sync.Mutex
	hold  int
	late  []etcd.Txn
	first func() // called once
	skip  int    // transactions before that
}

func (k *lateKV) Txn(ctx context.Context) etcd.Txn {
	return &lateTxn{Txn: k.KV.Txn(ctx), late: k.KV.Txn(context.Background()), kv: k}
}

// arrive lets the transactions that were held back happen.
func (k *lateKV) arrive(t *testing.T) (n int) {
	t.Helper()
	k.mu.Lock()
	late := k.late
	k.hold, k.late = 0, nil
	k.mu.Unlock()
	for _, txn := range late {
		if _, err := txn.Commit(); err != nil {
			t.Logf("a late transaction: %v", err)
		}
	}
	return len(late)
}

type lateTxn struct {
	etcd.Txn
	late etcd.Txn
	kv   *lateKV
	puts bool
}

func (x *lateTxn) If(cs ...etcd.Cmp) etcd.Txn {
	x.Txn, x.late = x.Txn.If(cs...), x.late.If(cs...)
	return x
}

func (x *lateTxn) Then(ops ...etcd.Op) etcd.Txn {
	for _, op := range ops {
		x.puts = x.puts || op.IsPut() && strings.Contains(string(op.KeyBytes()), "/l/")
	}
	x.Txn, x.late = x.Txn.Then(ops...), x.late.Then(ops...)
	return x
}

func (x *lateTxn) Else(ops ...etcd.Op) etcd.Txn {
	x.Txn, x.late = x.Txn.Else(ops...), x.late.Else(ops...)
	return x
}

func (x *lateTxn) Commit() (*etcd.TxnResponse, error) {
	x.kv.mu.Lock()
	if first := x.kv.first; x.puts && first != nil {
		if x.kv.skip--; x.kv.skip >= 0 {
			x.kv.mu.Unlock()
			return x.Txn.Commit()
		}
		x.kv.first = nil
		x.kv.mu.Unlock()
		first()
		x.kv.mu.Lock()
	}
	if x.puts && x.kv.hold > 0 {
		x.kv.hold--
		x.kv.late = append(x.kv.late, x.late)
		x.kv.mu.Unlock()
		return nil, rpctypes.ErrTimeout
	}
	x.kv.mu.Unlock()
	return x.Txn.Commit()
}

// A request without an answer arrives when its lease is over, whether that was given up or released: it refuses itself.
func TestStore_requestAfterItsEnd(t *testing.T) {
	c := start(t, 1, testetcd.Options{})
	client := c.client(t)
	kv := &lateKV{KV: client.KV}
	client.KV = kv
	silent := lockrt.Config{Logger: slog.New(slog.DiscardHandler)}
	locks, err := lockrt.New(etcdstore.New(client, etcdstore.Config{}), silent)
	if err != nil {
		t.Fatal(err)
	}
	defer locks.Close(context.Background())
	release(t, acquire(t, locks, "warm", lockrt.Options{TTL: long}))
	contenders := func() (left []string) {
		for _, key := range c.keys(t) {
			if strings.Contains(key, "/l/") {
				left = append(left, key)
			}
		}
		return left
	}
	generations := func() (n int) {
		for _, key := range c.keys(t) {
			if strings.Contains(key, "/s/") {
				n++
			}
		}
		return n
	}
	arm := func(n int) {
		kv.mu.Lock()
		defer kv.mu.Unlock()
		kv.hold = n
	}
	kinds := []lockrt.Options{{}, {Mode: lockrt.Read}, {Permits: 3}}
	for name, end := range map[string]func(o lockrt.Options){
		"released": func(o lockrt.Options) {
			arm(1)
			release(t, acquire(t, locks, "k", o))
		},
		"released with MinHold": func(o lockrt.Options) {
			arm(1)
			o.MinHold = 100 * time.Millisecond
			release(t, acquire(t, locks, "k", o))
			eventually(t, "the lock is free", func() bool { return len(contenders()) == 0 })
		},
		"given up": func(o lockrt.Options) {
			arm(1000)
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			if lease, err := locks.Acquire(ctx, "k", o); err == nil {
				t.Errorf("acquired without an answer: fence %d", lease.Fence())
			}
			eventually(t, "the generation has ended", func() bool { return generations() == 0 })
		},
	} {
		for i, wait := range []time.Duration{0, time.Minute, 0, time.Minute, 0, time.Minute} {
			o := kinds[i/2]
			o.TTL, o.Wait = long, wait
			if o.Mode == lockrt.Read && name == "released with MinHold" {
				continue
			}
			end(o)
			if kv.arrive(t) == 0 {
				t.Fatalf("%s: no request was held back", name)
			}
			if left := contenders(); len(left) > 0 {
				t.Fatalf("%s, %+v: a late request has left %q", name, o, left)
			}
			release(t, acquire(t, locks, "k", lockrt.Options{TTL: long})) // and a new generation begins
		}
	}
}
