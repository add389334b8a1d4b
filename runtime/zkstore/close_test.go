package zkstore_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/lockgen/lockgen/internal/testenv"
	lockrt "github.com/lockgen/lockgen/runtime"
)

// A Locker closes, and what is to keep a lock has not reached the servers. The lock stays for as long as its session of
// ZooKeeper, as if the process had died: it would be free at once if that were closed.
func TestStore_Close_minHoldThatDoesNotArrive(t *testing.T) {
	t.Parallel() // it waits more than it works
	e := one(t)
	n, b := newNode(t, e.Addrs(), config(patient), "a", lockrt.Config{}), newLocker(t, e.Addrs(), config(patient), "b", lockrt.Config{})
	acquire(t, n.locks, "k", lockrt.Options{TTL: long, MinHold: time.Hour})
	line := n.lines[0]
	var cut func()
	cut = func() {
		line.Cut()
		line.On(root(t)+"/k/", cut)
	}
	line.On(root(t)+"/k/", cut)
	if err := n.locks.Close(t.Context()); err == nil {
		t.Error("Close says nothing of a release that had no answer")
	}
	if _, err := b.TryAcquire(t.Context(), "k", lockrt.Options{TTL: long}); !errors.Is(err, lockrt.ErrBusy) {
		t.Errorf("the lock is not kept: %v", err)
	}
}

// A Locker that holds a lock and waits for another closes at a slow server. When Close has returned nothing is left to do that
// a process which ends then could not do: others have the lock at once.
func TestStore_Close_waitsForItsWaiters(t *testing.T) {
	t.Parallel() // it waits more than it works
	e := one(t)
	n, b := newNode(t, e.Addrs(), config(patient), "a", lockrt.Config{LocalHandoffs: -1}), newLocker(t, e.Addrs(), config(patient), "b", lockrt.Config{})
	acquire(t, n.locks, "mine", lockrt.Options{TTL: long})
	acquire(t, b, "k", lockrt.Options{TTL: long})
	const crowd = 30
	var waiting sync.WaitGroup
	for range crowd {
		waiting.Go(func() {
			_, err := n.locks.Acquire(context.Background(), "k", lockrt.Options{TTL: long, Wait: lockrt.Forever})
			if !errors.Is(err, lockrt.ErrClosed) {
				t.Errorf("a waiter: %v, want ErrClosed", err)
			}
		})
	}
	eventually(t, "all wait", func() bool { return len(waiters(t, b, "k")) == crowd })
	n.each(func(line *testenv.Proxy) { line.Slow(50 * time.Millisecond) })
	if err := n.locks.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if left := waiters(t, b, "k"); len(left) > 0 {
		t.Errorf("%d waiters are left", len(left))
	}
	waiting.Wait()
}

// The servers are silent, and waiters are all that a Locker has. Close says that they stay.
func TestStore_Close_waitersAtSilentServers(t *testing.T) {
	t.Parallel() // it waits more than it works
	e := one(t)
	n, b := newNode(t, e.Addrs(), config(patient), "a", lockrt.Config{LocalHandoffs: -1}), newLocker(t, e.Addrs(), config(patient), "b", lockrt.Config{})
	acquire(t, b, "k", lockrt.Options{TTL: long})
	var waiting sync.WaitGroup
	for range 5 {
		waiting.Go(func() {
			_, _ = n.locks.Acquire(context.Background(), "k", lockrt.Options{TTL: long, Wait: lockrt.Forever})
		})
	}
	eventually(t, "all wait", func() bool { return len(waiters(t, b, "k")) == 5 })
	n.each((*testenv.Proxy).Silence)
	says(t, n.locks.Close(t.Context()), "left to its timeout, with 5 places in queues")
	waiting.Wait()
}

// MinHold is refused, and a Locker that waits for other locks closes. Its places in their queues go.
func TestStore_Close_waitersBesideMinHold(t *testing.T) {
	e := one(t)
	n, other := newNode(t, e.Addrs(), config(patient), "a", lockrt.Config{LocalHandoffs: -1}), newLocker(t, e.Addrs(), config(patient), "b", lockrt.Config{})
	held := acquire(t, other, "awaited", lockrt.Options{TTL: long})
	kept := acquire(t, n.locks, "kept", lockrt.Options{TTL: long, MinHold: time.Hour})
	if _, err := client(t, e.Addrs()).SetACL(root(t)+"/k", zk.WorldACL(zk.PermRead|zk.PermWrite|zk.PermAdmin), -1); err != nil {
		t.Fatal(err)
	}
	if err := kept.Release(t.Context()); err == nil {
		t.Fatal("MinHold is not refused")
	}
	const crowd = 80
	var waiting sync.WaitGroup
	for range crowd {
		waiting.Go(func() {
			_, _ = n.locks.Acquire(context.Background(), "awaited", lockrt.Options{TTL: long, Wait: lockrt.Forever})
		})
	}
	eventually(t, "they wait", func() bool { return len(waiters(t, other, "awaited")) == crowd })
	n.each(func(line *testenv.Proxy) { line.Slow(100 * time.Millisecond) })
	if err := n.locks.Close(t.Context()); err == nil {
		t.Error("Close says nothing of the lock that is not kept")
	}
	waiting.Wait()
	eventually(t, "none waits", func() bool { return len(waiters(t, other, "awaited")) == 0 })
	release(t, held)
}
