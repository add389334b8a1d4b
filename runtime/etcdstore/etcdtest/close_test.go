package etcdtest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	etcd "go.etcd.io/etcd/client/v3"

	"github.com/lockgen/lockgen/internal/pace"
	"github.com/lockgen/lockgen/internal/testenv"
	"github.com/lockgen/lockgen/internal/testetcd"
	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/etcdstore"
)

// endlessKV does late what deletes a contender, and for ever when somebody has closed for a second.
type endlessKV struct {
	etcd.KV
	closes atomic.Pointer[time.Time] // when Close begins
	over   chan struct{}             // closed at the end of the test
}

func (k *endlessKV) await(ctx context.Context, ops ...etcd.Op) {
	closes := k.closes.Load()
	if closes == nil || !slices.ContainsFunc(ops, func(op etcd.Op) bool { return op.IsDelete() }) {
		return
	}
	if time.Since(*closes) > time.Second {
		select {
		case <-k.over:
		case <-ctx.Done():
		}
	}
	pace.Sleep(ctx, 1200*time.Millisecond)
}

func (k *endlessKV) Do(ctx context.Context, op etcd.Op) (etcd.OpResponse, error) {
	k.await(ctx, op)
	return k.KV.Do(ctx, op)
}

func (k *endlessKV) Txn(ctx context.Context) etcd.Txn {
	return &watchedTxn{Txn: k.KV.Txn(ctx), commit: func(txn etcd.Txn, ops []etcd.Op) (*etcd.TxnResponse, error) {
		k.await(ctx, ops...)
		return txn.Commit()
	}}
}

// A Locker with locks of three kinds closes at a slow server. The last releases come after its session has closed, and have
// no answer. With the last one its leases of etcd end, and the locks.
func TestLocker_Close_lastReleasesWithoutAnswers(t *testing.T) {
	t.Parallel() // it waits more than it works
	c := start(t, 1, testetcd.Options{})
	client := c.client(t)
	kv := &endlessKV{KV: client.KV, over: make(chan struct{})}
	defer close(kv.over)
	client.KV = kv
	locks, err := lockrt.New(etcdstore.New(client, etcdstore.Config{}), lockrt.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 60 { // twice as many as are released at a time
		acquire(t, locks, fmt.Sprint("k", i), lockrt.Options{TTL: time.Duration(1+i%3) * time.Hour})
	}
	now := time.Now()
	kv.closes.Store(&now)
	if err := locks.Close(context.Background()); err == nil {
		t.Error("Close says nothing of releases that had no answer")
	}
	eventually(t, "nothing is left", func() bool { return len(locksOf(t, c)) == 0 && len(leasesOf(t, c)) == 0 })
}

// Waiters are all that a Locker has, at a server that is slow. What they have put goes with its leases of etcd, which is one
// request, and not with one for each of them.
func TestLocker_Close_manyWaitersAtASlowServer(t *testing.T) {
	t.Parallel() // it waits more than it works
	c := start(t, 1, testetcd.Options{})
	others := newLocker(t, c, "others", lockrt.Config{})
	line := testenv.NewProxy(t, c.Members[0].Addr())
	locks, err := lockrt.Open(t.Context(), "etcd://"+line.Addr(), lockrt.Config{
		LocalHandoffs: -1, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	var waiting sync.WaitGroup
	for i := range 200 {
		key := fmt.Sprint("k", i%10)
		if i < 10 {
			acquire(t, others, key, lockrt.Options{TTL: long})
		}
		waiting.Go(func() {
			_, err := locks.Acquire(context.Background(), key, lockrt.Options{TTL: time.Hour, Wait: lockrt.Forever})
			if !errors.Is(err, lockrt.ErrClosed) {
				t.Errorf("a waiter: %v, want ErrClosed", err)
			}
		})
	}
	eventually(t, "all wait", func() bool { return len(locksOf(t, c)) == 210 })
	line.Slow(400 * time.Millisecond)
	if err := locks.Close(context.Background()); err != nil {
		t.Errorf("close: %v", err)
	}
	waiting.Wait()
	if keys := locksOf(t, c); len(keys) != 10 {
		t.Errorf("%d contenders are left, want the 10 that hold", len(keys))
	}
}

// The servers are silent, and nothing was to be released. Close says what it leaves.
func TestLocker_Close_waitersAtSilentServers(t *testing.T) {
	t.Parallel() // it waits more than it works
	c := start(t, 1, testetcd.Options{})
	others, n := newLocker(t, c, "others", lockrt.Config{}), newNode(t, c, "a", lockrt.Config{})
	acquire(t, others, "k", lockrt.Options{TTL: long})
	var waiting sync.WaitGroup
	waiting.Go(func() {
		_, err := n.locks.Acquire(context.Background(), "k", lockrt.Options{TTL: time.Hour, Wait: lockrt.Forever})
		if !errors.Is(err, lockrt.ErrClosed) {
			t.Errorf("a waiter: %v, want ErrClosed", err)
		}
	})
	eventually(t, "it waits", func() bool { return len(locksOf(t, c)) == 2 })
	n.each((*testenv.Proxy).Silence)
	says(t, n.locks.Close(context.Background()), "a lease of etcd is left to its TTL", "did not answer")
	waiting.Wait()
}

// The servers are silent, and some holders release when Close has all but given up. The leases of etcd are not waited for
// as long as those releases would be.
func TestLocker_Close_lateCallersOfSilentServers(t *testing.T) {
	t.Parallel() // it waits more than it works
	c := start(t, 1, testetcd.Options{})
	n := newNode(t, c, "a", lockrt.Config{})
	var held []*lockrt.Lease
	for i := range 40 {
		held = append(held, acquire(t, n.locks, fmt.Sprint("k", i), lockrt.Options{TTL: time.Hour}))
	}
	n.each((*testenv.Proxy).Silence)
	var callers sync.WaitGroup
	for _, lease := range held {
		callers.Go(func() {
			<-lease.Done()
			time.Sleep(4900 * time.Millisecond)
			ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
			defer cancel()
			_ = lease.Release(ctx)
		})
	}
	began := time.Now()
	if err := n.locks.Close(context.Background()); err == nil {
		t.Error("Close says nothing of what stays")
	}
	if took := time.Since(began); took > 9*time.Second { // some 6 s, and not 10
		t.Errorf("Close took %s", took)
	}
	callers.Wait()
}

// A Locker closes without knowing whether what MinHold is to keep is kept. Its lease of etcd would end that early.
func TestLocker_Close_minHoldWithoutAnswers(t *testing.T) {
	t.Parallel() // it waits more than it works
	c := start(t, 1, testetcd.Options{})
	line := testenv.NewProxy(t, c.Members[0].Addr())
	locks, err := lockrt.Open(t.Context(), "etcd://"+line.Addr(), lockrt.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		acquire(t, locks, fmt.Sprint("k", i), lockrt.Options{TTL: time.Minute, MinHold: time.Minute})
	}
	line.Swallow() // the server hears of everything
	if err := locks.Close(context.Background()); err == nil {
		t.Error("Close says nothing of releases that had no answer")
	}
	if keys := locksOf(t, c); len(keys) != 5 {
		t.Errorf("%d locks are kept, want 5", len(keys))
	}
}

// locksOf returns the contenders of all locks.
func locksOf(t *testing.T, c *cluster) (keys []string) {
	t.Helper()
	for _, key := range c.keys(t) {
		if strings.Contains(key, "/l/") {
			keys = append(keys, key)
		}
	}
	return keys
}

// In a full database MinHold's lock is kept as it is. A Locker that closes leaves it to its TTL: its lease of etcd would end
// it at once.
func TestLocker_Close_minHoldInAFullDatabase(t *testing.T) {
	c := start(t, 1, testetcd.Options{Quota: 2 << 20})
	locks := newLocker(t, c, "a", lockrt.Config{})
	acquire(t, locks, "k", lockrt.Options{TTL: time.Minute, MinHold: time.Minute})
	fill(t, c.client(t))
	if err := locks.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if keys := locksOf(t, c); len(keys) != 1 {
		t.Errorf("%d locks are kept, want 1", len(keys))
	}
}
