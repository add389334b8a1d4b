package etcdtest

import (
	"context"
	"testing"
	"time"

	etcd "go.etcd.io/etcd/client/v3"

	"github.com/lockgen/lockgen/internal/testetcd"
	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/etcdstore"
)

// interruptible is a Locker, and that which lets something happen between its look at a lock and its request.
func interruptible(t *testing.T, c *cluster, cfg lockrt.Config) (*lockrt.Locker, *lateKV) {
	t.Helper()
	client := c.client(t)
	kv := &lateKV{KV: client.KV}
	client.KV = kv
	locks, err := lockrt.New(etcdstore.New(client, etcdstore.Config{}), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = locks.Close(context.Background()) })
	release(t, acquire(t, locks, "warm", lockrt.Options{TTL: long}))
	return locks, kv
}

// interrupt lets something happen before a transaction that puts a contender, after as many others.
func (k *lateKV) interrupt(after int, first func()) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.skip, k.first = after, first
}

// The world changes between a reader's look and its request. Its epoch is that of the readers beside it, and above that
// of every writer before.
func TestShare_readerInterrupted(t *testing.T) {
	c := start(t, 1, testetcd.Options{})
	locks, kv := interruptible(t, c, lockrt.Config{LocalHandoffs: -1})
	other := newLocker(t, c, "other", lockrt.Config{LocalHandoffs: -1})
	read, write := lockrt.Options{TTL: long, Mode: lockrt.Read}, lockrt.Options{TTL: long}
	for _, wait := range []time.Duration{0, time.Minute} {
		asks := read
		asks.Wait = wait

		before := acquire(t, other, "k", read)
		var between lockrt.Fence
		kv.interrupt(0, func() {
			release(t, before)
			writer := acquire(t, other, "k", write)
			between = writer.Fence()
			release(t, writer)
		})
		lease := acquire(t, locks, "k", asks)
		if between == 0 || lease.Fence() <= between {
			t.Errorf("wait %s: the reader has fence %d after a writer's %d", wait, lease.Fence(), between)
		}
		release(t, lease)

		first := acquire(t, other, "k", read)
		var second *lockrt.Lease
		kv.interrupt(0, func() {
			second = acquire(t, newLocker(t, c, "third", lockrt.Config{}), "k", read)
			release(t, first)
		})
		lease = acquire(t, locks, "k", asks)
		if second == nil || lease.Fence() != second.Fence() {
			t.Errorf("wait %s: the reader has fence %d beside %v", wait, lease.Fence(), second)
		}
		release(t, lease)
		release(t, second)
	}
}

// Another permit is given between the look and the request. Both have a slot of their own.
func TestShare_permitInterrupted(t *testing.T) {
	c := start(t, 1, testetcd.Options{})
	locks, kv := interruptible(t, c, lockrt.Config{LocalHandoffs: -1})
	other := newLocker(t, c, "other", lockrt.Config{LocalHandoffs: -1})
	o := lockrt.Options{TTL: long, Permits: 3}
	for _, wait := range []time.Duration{0, time.Minute} {
		asks := o
		asks.Wait = wait
		first := acquire(t, other, "k", o)
		var second *lockrt.Lease
		kv.interrupt(0, func() { second = acquire(t, other, "k", o) })
		third := acquire(t, locks, "k", asks)
		if second == nil || third.Slot() == second.Slot() || third.Slot() == first.Slot() {
			t.Errorf("wait %s: the slots are %d, %v and %d", wait, first.Slot(), second, third.Slot())
		}
		for _, lease := range []*lockrt.Lease{first, second, third} {
			release(t, lease)
		}
	}
}

// Two permits are free at the same moment, and two wait, in two processes. A third one comes meanwhile.
func TestShare_permitsAtOnce(t *testing.T) {
	c := start(t, 1, testetcd.Options{})
	lockers := make([]*lockrt.Locker, 3)
	for i := range lockers {
		lockers[i] = newLocker(t, c, "node", lockrt.Config{LocalHandoffs: -1})
	}
	o := lockrt.Options{TTL: long, Permits: 2, Wait: time.Minute}
	for range 10 {
		held := []*lockrt.Lease{acquire(t, lockers[0], "k", o), acquire(t, lockers[0], "k", o)}
		got := make(chan *lockrt.Lease, 4)
		for i := range 4 {
			go func() {
				lease, err := lockers[1+i%2].Acquire(t.Context(), "k", o)
				if err != nil {
					t.Error(err)
				}
				got <- lease
			}()
		}
		eventually(t, "somebody waits in both processes", func() bool { return len(waiters(t, lockers[0], "k")) >= 2 })
		for _, lease := range held {
			go func() {
				if err := lease.Release(t.Context()); err != nil {
					t.Error(err)
				}
			}()
		}
		one, two := <-got, <-got
		if one.Slot() == two.Slot() || one.Slot() > 1 || two.Slot() > 1 {
			t.Errorf("the slots are %d and %d", one.Slot(), two.Slot())
		}
		release(t, one)
		release(t, two)
		release(t, <-got)
		release(t, <-got)
	}
}

// A place in the queue passes to a caller with a longer TTL, and is let in at that moment by the reader before it. It goes
// with a lease of etcd that lasts.
func TestShare_placePassesWhileLetIn(t *testing.T) {
	c := start(t, 1, testetcd.Options{})
	client := c.client(t)
	locks, kv := interruptible(t, c, lockrt.Config{})
	other := newLocker(t, c, "other", lockrt.Config{})
	o := lockrt.Options{TTL: 2 * time.Second, Mode: lockrt.Read, Wait: time.Minute}
	writer := acquire(t, other, "k", lockrt.Options{TTL: long})
	first := waitsAs(t, newLocker(t, c, "first", lockrt.Config{}), "k", o)
	ctx, giveUp := context.WithCancel(t.Context())
	gone := make(chan error, 1)
	go func() {
		_, err := locks.Acquire(ctx, "k", o)
		gone <- err
	}()
	eventually(t, "both are in the queue", func() bool { return len(waiters(t, other, "k")) == 2 })
	o.TTL = long
	got := make(chan *lockrt.Lease, 1)
	go func() {
		lease, err := locks.Acquire(context.WithoutCancel(t.Context()), "k", o)
		if err != nil {
			t.Error(err)
		}
		got <- lease
	}()
	time.Sleep(100 * time.Millisecond) // if the next caller is not behind it by then, it makes a place of its own
	var before *lockrt.Lease
	kv.interrupt(1, func() {
		if err := writer.Release(t.Context()); err != nil {
			t.Error(err)
		}
		before = <-first
		eventually(t, "both are let in", func() bool { return len(waiters(t, other, "k")) == 0 })
	})
	giveUp()
	if err := <-gone; err == nil {
		t.Fatal("the first caller has got the lock")
	}
	lease := <-got
	r, err := client.Get(t.Context(), "lockgen/~lock/l/k/", etcd.WithPrefix())
	if err != nil {
		t.Fatal(err)
	}
	lasting := 0
	for _, kv := range r.Kvs {
		life, err := client.TimeToLive(t.Context(), etcd.LeaseID(kv.Lease))
		if err != nil {
			t.Fatal(err)
		}
		if time.Duration(life.GrantedTTL)*time.Second >= long {
			lasting++
		}
	}
	if lasting != 1 {
		t.Errorf("%d of the readers have a lease of etcd for %s, want the one that asked for it", lasting, long)
	}
	release(t, before)
	release(t, lease)
}

// Who stands behind a reader leaves while that one lets both in.
func TestShare_followerLeavesWhileLetIn(t *testing.T) {
	c := start(t, 1, testetcd.Options{})
	locks, kv := interruptible(t, c, lockrt.Config{})
	other := newLocker(t, c, "other", lockrt.Config{})
	o := lockrt.Options{TTL: long, Mode: lockrt.Read, Wait: time.Minute}
	writer := acquire(t, other, "k", lockrt.Options{TTL: long})
	first := waitsAs(t, locks, "k", o)
	ctx, giveUp := context.WithCancel(t.Context())
	gone := make(chan error, 1)
	go func() {
		_, err := newLocker(t, c, "follower", lockrt.Config{}).Acquire(ctx, "k", o)
		gone <- err
	}()
	eventually(t, "both are in the queue", func() bool { return len(waiters(t, other, "k")) == 2 })
	left := make(chan struct{})
	kv.interrupt(0, func() {
		giveUp()
		<-gone
		eventually(t, "the follower has left", func() bool { return len(waiters(t, other, "k")) == 0 })
		close(left)
	})
	release(t, writer)
	lease := <-first
	select {
	case <-left:
	default:
		t.Error("nobody was let in by the first")
	}
	release(t, lease)
}

// A permit becomes free that is not the last one: whoever waits hears of it, and does not only look from time to time.
func TestShare_olderPermitLeaves(t *testing.T) {
	c := start(t, 1, testetcd.Options{})
	a, b := newLocker(t, c, "a", lockrt.Config{}), newLocker(t, c, "b", lockrt.Config{})
	o := lockrt.Options{TTL: long, Permits: 2, Wait: time.Minute}
	older, newer := acquire(t, a, "k", o), acquire(t, a, "k", o)
	began := time.Now()
	for range 10 {
		next := waitsAs(t, b, "k", o)
		release(t, older)
		older, newer = newer, <-next
	}
	if took := time.Since(began); took > time.Minute {
		t.Errorf("10 permits took %s", took)
	}
	release(t, older)
	release(t, newer)
}
