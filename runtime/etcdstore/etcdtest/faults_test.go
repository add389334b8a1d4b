package etcdtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	etcd "go.etcd.io/etcd/client/v3"

	"github.com/lockgen/lockgen/internal/testenv"
	"github.com/lockgen/lockgen/internal/testetcd"
	"github.com/lockgen/lockgen/internal/testsync"
	lockrt "github.com/lockgen/lockgen/runtime"
)

// A full database takes no writes. Locks that are held stay held, and can be released. Nothing is lost, and when there
// is room again everything goes on.
func TestStore_fullDatabase(t *testing.T) {
	c := start(t, 1, testetcd.Options{Quota: 4 << 20})
	client := c.client(t)
	a, b := newLocker(t, c, "a", lockrt.Config{}), newLocker(t, c, "b", lockrt.Config{})
	held := acquire(t, a, "held", lockrt.Options{TTL: 4 * time.Second})
	other := acquire(t, b, "other", lockrt.Options{TTL: long})
	kept := acquire(t, b, "kept", lockrt.Options{TTL: long, MinHold: 3 * time.Second})
	keptAt := time.Now()
	waiter := waits(t, b, "held")
	fill(t, client)
	for _, wait := range []time.Duration{0, 200 * time.Millisecond} {
		_, err := a.Acquire(t.Context(), "new", lockrt.Options{TTL: long, Wait: wait})
		says(t, err, "quota", "etcdctl alarm disarm")
		if !errors.Is(err, rpctypes.ErrNoSpace) {
			t.Errorf("the error does not wrap the client's: %v", err)
		}
	}
	says(t, a.Break(t.Context(), "other", "test"), "etcdctl alarm disarm")
	renewed := held.Deadline().Add(time.Second)
	eventually(t, "the held lock is renewed for longer than its TTL", func() bool {
		return held.Deadline().After(renewed) || held.Err() != nil
	})
	if err := held.Err(); err != nil {
		t.Errorf("a held lock is lost: %v", err)
	}
	release(t, other)
	release(t, kept)
	release(t, held)
	next := <-waiter
	release(t, next)
	isKept := func() bool {
		return slices.ContainsFunc(c.keys(t), func(k string) bool { return strings.Contains(k, "/kept/") })
	}
	if there := isKept(); !there && time.Since(keptAt) < 3*time.Second {
		t.Error("MinHold does not keep the lock")
	}
	eventually(t, "the kept lock is free", func() bool { return !isKept() })

	makeRoom(t, c, client)
	lease := acquire(t, a, "new", lockrt.Options{TTL: long, Wait: time.Minute})
	if lease.Fence() <= next.Fence() {
		t.Errorf("fence %d after %d", lease.Fence(), next.Fence())
	}
	release(t, lease)
}

// The history that a watch needs is compacted while the waiter cannot hear. It looks again.
func TestStore_compactionUnderWatch(t *testing.T) {
	c := start(t, 1, testetcd.Options{})
	client := c.client(t)
	a, n := newLocker(t, c, "a", lockrt.Config{}), newNode(t, c, "b", lockrt.Config{})
	held := acquire(t, a, "k", lockrt.Options{TTL: long})
	waiter := waits(t, n.locks, "k")
	n.each((*testenv.Proxy).Silence)
	release(t, held)
	r, err := client.Put(t.Context(), "something", "else")
	if err == nil {
		_, err = client.Compact(t.Context(), r.Header.Revision, etcd.WithCompactPhysical())
	}
	if err != nil {
		t.Fatal(err)
	}
	n.each((*testenv.Proxy).Cut)
	n.each((*testenv.Proxy).Resume)
	release(t, <-waiter)
}

// A member is killed and comes back with what it had. Leases live on.
func TestStore_memberRestart(t *testing.T) {
	c := start(t, 1, testetcd.Options{})
	a, b := newLocker(t, c, "a", lockrt.Config{}), newLocker(t, c, "b", lockrt.Config{})
	held := acquire(t, a, "k", lockrt.Options{TTL: time.Minute})
	waiter := waits(t, b, "k")
	for range 3 {
		c.Members[0].Kill()
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		if _, err := b.TryAcquire(ctx, "k", lockrt.Options{TTL: long}); errors.Is(err, lockrt.ErrBusy) {
			t.Errorf("with no server the lock is busy: %v", err)
		}
		cancel()
		if err := c.Members[0].Restart(); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the lease is in etcd", func() bool { return held.Check(t.Context()) == nil })
	}
	release(t, held)
	next := <-waiter
	if next.Fence() <= held.Fence() {
		t.Errorf("fence %d after %d", next.Fence(), held.Fence())
	}
	release(t, next)
}

// Requests are held up on one of two lines, and their callers give up. When they arrive at last, they refuse themselves.
func TestStore_lateRequest(t *testing.T) {
	t.Parallel() // it waits more than it works
	c := start(t, 1, testetcd.Options{})
	addr := c.Members[0].Addr()
	stuck, other := testenv.NewProxy(t, addr), testenv.NewProxy(t, addr)
	locks := newLocker(t, c, "a", lockrt.Config{}, stuck.Addr(), other.Addr())
	for i := range 4 { // both lines are in use
		release(t, acquire(t, locks, fmt.Sprint("warm", i), lockrt.Options{TTL: long, Wait: time.Minute}))
	}
	stuck.Silence()
	failed := 0
	for i := range 8 {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		lease, err := locks.Acquire(ctx, fmt.Sprint("k", i), lockrt.Options{TTL: long, Wait: time.Minute})
		cancel()
		if err != nil {
			failed++
			continue
		}
		_ = lease.Release(t.Context()) // it may be held up too, and goes on by itself
	}
	if failed == 0 {
		t.Fatal("no request was held up")
	}
	watcher := newLocker(t, c, "watcher", lockrt.Config{})
	free := func() bool {
		infos, err := watcher.List(t.Context(), "")
		return err == nil && len(infos) == 0
	}
	eventually(t, "what the callers gave up is free", free)
	time.Sleep(2 * time.Second) // attempts on the silent line have their time
	stuck.Resume()
	for looked := 0; looked < 20; { // a slow server may not answer in time, which says nothing of late requests
		infos, err := watcher.List(t.Context(), "")
		if len(infos) > 0 {
			t.Fatalf("a late request has taken a lock: %+v, keys %v", infos, c.keys(t))
		}
		if err == nil {
			looked++
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// Answers are lost with their connections: what nobody knows of is given back.
func TestStore_answersLost(t *testing.T) {
	c := start(t, 1, testetcd.Options{})
	n, b := newNode(t, c, "a", lockrt.Config{}), newLocker(t, c, "b", lockrt.Config{})
	release(t, acquire(t, n.locks, "warm", lockrt.Options{TTL: long}))
	for i := range 5 {
		key := fmt.Sprint("k", i)
		n.each((*testenv.Proxy).Swallow)
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		_, err := n.locks.Acquire(ctx, key, lockrt.Options{TTL: long, Wait: time.Minute})
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, lockrt.ErrBusy) {
			t.Fatalf("the error is %v, want context.DeadlineExceeded and not ErrBusy", err)
		}
		n.each((*testenv.Proxy).Cut)
		release(t, acquire(t, b, key, lockrt.Options{TTL: long, Wait: time.Minute}))
	}
}

// A store that is silent is not a lock that is busy, and no call waits for it for ever.
func TestStore_silence(t *testing.T) {
	t.Parallel() // it waits more than it works
	c := start(t, 1, testetcd.Options{})
	n := newNode(t, c, "a", lockrt.Config{})
	held := acquire(t, n.locks, "held", lockrt.Options{TTL: time.Second})
	n.each((*testenv.Proxy).Silence)
	for what, call := range map[string]func() error{
		"try": func() error {
			_, err := n.locks.TryAcquire(t.Context(), "k", lockrt.Options{TTL: long})
			return err
		},
		"wait": func() error {
			_, err := n.locks.Acquire(context.Background(), "k", lockrt.Options{TTL: long, Wait: lockrt.Forever})
			return err
		},
		"list": func() error {
			_, err := n.locks.List(t.Context(), "")
			return err
		},
	} {
		began := time.Now()
		err := call()
		if took := time.Since(began); took > 20*time.Second {
			t.Errorf("%s took %s", what, took)
		}
		says(t, err)
		if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
			t.Errorf("%s: the error is that of a context: %v", what, err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := n.locks.Acquire(ctx, "k", lockrt.Options{TTL: long, Wait: time.Minute})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("with an ended context: %v", err)
	}
	if err := held.Err(); !errors.Is(err, lockrt.ErrLost) {
		t.Errorf("the held lease is believed in: %v", err)
	}
	n.each((*testenv.Proxy).Resume)
	n.each((*testenv.Proxy).Cut)
	release(t, acquire(t, n.locks, "k", lockrt.Options{TTL: long, Wait: time.Minute}))
}

// Callers give up, and then the store is silent: what they leave is tried for as long as Close may take, and not on and on.
func TestLocker_Close_leftoversAtASilentStore(t *testing.T) {
	t.Parallel() // it waits more than it works
	c := start(t, 1, testetcd.Options{})
	held := acquire(t, newNode(t, c, "holder", lockrt.Config{}).locks, "k", lockrt.Options{TTL: time.Minute})
	n := newNode(t, c, "a", lockrt.Config{LocalHandoffs: -1})
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() { _, _ = n.locks.Acquire(ctx, "k", lockrt.Options{TTL: time.Minute, Wait: time.Hour}) })
	}
	testsync.Eventually(t, "all stand in the queue", func() bool {
		info, err := held.Locker().Holder(t.Context(), "k")
		return err == nil && len(info.Waiters) == 20
	})
	n.each((*testenv.Proxy).Silence)
	cancel()
	all.Wait()
	ended := make(chan error, 1)
	go func() { ended <- n.locks.Close(context.Background()) }()
	select {
	case err := <-ended:
		if err != nil {
			t.Log(err)
		}
	case <-time.After(time.Minute): // it was two
		t.Error("Close goes on and on")
		<-ended
	}
}

// The only server is gone. Each call says so, for how long it was tried, and why it failed.
func TestOpen_serverGone(t *testing.T) {
	c := start(t, 1, testetcd.Options{})
	locks, err := lockrt.Open(t.Context(), c.URL(), lockrt.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = locks.Close(context.Background()) })
	held := acquire(t, locks, "held", lockrt.Options{TTL: long})
	other := acquire(t, locks, "other", lockrt.Options{TTL: long})
	c.Members[0].Kill()
	for what, call := range map[string]func() error{
		"try": func() error {
			_, err := locks.TryAcquire(t.Context(), "k", lockrt.Options{TTL: long})
			return err
		},
		"wait": func() error {
			_, err := locks.Acquire(context.Background(), "k", lockrt.Options{TTL: long, Wait: lockrt.Forever})
			return err
		},
		"list": func() error {
			_, err := locks.List(t.Context(), "")
			return err
		},
		"check":   func() error { return held.Check(t.Context()) },
		"extend":  func() error { return held.Extend(t.Context(), 2*long) },
		"release": func() error { return other.Release(t.Context()) },
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			err := call()
			says(t, err, "connection refused", " for ")
		})
	}
}
