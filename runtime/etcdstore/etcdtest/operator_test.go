package etcdtest

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	etcd "go.etcd.io/etcd/client/v3"

	"github.com/lockgen/lockgen/internal/testenv"
	"github.com/lockgen/lockgen/internal/testetcd"
	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/etcdstore"
)

// Somebody revokes leases behind the store's back. Holders lose their locks at once, and waiters join again.
func TestStore_revokedLeases(t *testing.T) {
	c := start(t, 1, testetcd.Options{})
	client := c.client(t)
	a, b := newLocker(t, c, "a", lockrt.Config{}), newLocker(t, c, "b", lockrt.Config{})
	blocker := acquire(t, a, "k", lockrt.Options{TTL: long})
	held := acquire(t, b, "held", lockrt.Options{TTL: 3 * time.Second})
	waiter := waits(t, b, "k")
	kv, err := client.Get(t.Context(), "lockgen/~lock/l/held/", etcd.WithPrefix())
	if err != nil || len(kv.Kvs) != 1 {
		t.Fatalf("the contender: %v, %v", kv, err)
	}
	if _, err := client.Revoke(t.Context(), etcd.LeaseID(kv.Kvs[0].Lease)); err != nil {
		t.Fatal(err)
	}
	<-held.Done()
	if err := held.Err(); !errors.Is(err, lockrt.ErrLost) {
		t.Errorf("the error is %v, want ErrLost", err)
	}
	eventually(t, "the waiter is in the queue again", func() bool { return len(waiters(t, a, "k")) == 1 })
	release(t, blocker)
	release(t, <-waiter)
}

// All leases are revoked at once, the session's own too, as when another server takes the place of etcd. Waiters join
// again.
func TestStore_allLeasesRevoked(t *testing.T) {
	c := start(t, 1, testetcd.Options{})
	client := c.client(t)
	a, b := newLocker(t, c, "a", lockrt.Config{}), newLocker(t, c, "b", lockrt.Config{})
	blocker := acquire(t, a, "k", lockrt.Options{TTL: long})
	waiter := waits(t, b, "k")
	r, err := client.Leases(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, lease := range r.Leases {
		if _, err := client.Revoke(t.Context(), lease.ID); err != nil {
			t.Fatal(err)
		}
	}
	next := <-waiter
	if next == nil {
		t.Fatal("the waiter has no lease")
	}
	if next.Fence() <= blocker.Fence() {
		t.Errorf("fence %d after %d", next.Fence(), blocker.Fence())
	}
	release(t, next)
}

// Somebody deletes the key of a waiter. It joins again.
func TestStore_deletedContender(t *testing.T) {
	c := start(t, 1, testetcd.Options{})
	client := c.client(t)
	a, b := newLocker(t, c, "a", lockrt.Config{}), newLocker(t, c, "b", lockrt.Config{})
	blocker := acquire(t, a, "k", lockrt.Options{TTL: long})
	waiter := waits(t, b, "k")
	id := waiters(t, a, "k")[0].ID
	time.Sleep(500 * time.Millisecond) // its own key is watched by then, or it would notice later
	r, err := client.Get(t.Context(), "lockgen/~lock/l/k/", etcd.WithPrefix())
	if err != nil {
		t.Fatal(err)
	}
	for _, kv := range r.Kvs {
		if strings.Contains(string(kv.Value), id) {
			if _, err := client.Delete(t.Context(), string(kv.Key)); err != nil {
				t.Fatal(err)
			}
		}
	}
	eventually(t, "the waiter is in the queue again", func() bool { return len(waiters(t, a, "k")) == 1 })
	release(t, blocker)
	release(t, <-waiter)
}

// After Close nothing is left, except locks that MinHold keeps.
func TestStore_Close_leavesNothing(t *testing.T) {
	c := start(t, 1, testetcd.Options{})
	locks := newLocker(t, c, "a", lockrt.Config{})
	acquire(t, locks, "k", lockrt.Options{TTL: long})
	acquire(t, locks, "l", lockrt.Options{TTL: time.Second})
	acquire(t, locks, "kept", lockrt.Options{TTL: long, MinHold: time.Minute})
	if err := locks.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	left := c.keys(t)
	if len(left) != 1 || !strings.Contains(left[0], "/l/kept/") {
		t.Errorf("left are %q, want the kept lock alone", left)
	}
}

// What is told of a broken lease has a lease: its session may be dead.
func TestStore_Force_toldKeyRunsOut(t *testing.T) {
	c := start(t, 1, testetcd.Options{})
	client := c.client(t)
	n, b := newNode(t, c, "a", lockrt.Config{}), newLocker(t, c, "b", lockrt.Config{})
	held := acquire(t, n.locks, "k", lockrt.Options{TTL: time.Minute})
	n.each((*testenv.Proxy).Silence)
	if err := b.Force(t.Context(), "k", "its machine burnt down"); err != nil {
		t.Fatal(err)
	}
	next := acquire(t, b, "k", lockrt.Options{TTL: long, Wait: time.Minute})
	if next.Fence() <= held.Fence() {
		t.Errorf("fence %d after %d", next.Fence(), held.Fence())
	}
	found := false
	for _, key := range c.keys(t) {
		if strings.Contains(key, "/t/") {
			found = true
			kv, err := client.Get(t.Context(), key)
			if err != nil || len(kv.Kvs) != 1 || kv.Kvs[0].Lease == 0 {
				t.Errorf("%s has no lease: %v, %v", key, kv, err)
			}
		}
	}
	if !found {
		t.Error("the holder is not told")
	}
	n.each((*testenv.Proxy).Resume)
	<-held.Done()
	if err := held.Err(); !errors.Is(err, lockrt.ErrLost) || !strings.Contains(err.Error(), "burnt down") {
		t.Errorf("the error is %v, want ErrLost and why", err)
	}
	release(t, next)
}

// Fences go on growing when a namespace moves to another cluster, whose revisions begin anew.
func TestStore_otherCluster(t *testing.T) {
	c := start(t, 1, testetcd.Options{})
	client := c.client(t)
	first := acquire(t, newLocker(t, c, "a", lockrt.Config{}), "k", lockrt.Options{TTL: long})
	if now := uint64(time.Now().Add(-time.Hour).UnixMicro()); first.Fence().Epoch() < now {
		t.Errorf("epoch %d is below the clock, as a database counts", first.Fence().Epoch())
	}
	release(t, first)
	const base = "lockgen/~lock/b"
	for range 2000 { // revisions that a new base does not count
		if _, err := client.Put(t.Context(), "other", "value"); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := client.Put(t.Context(), base, `{"cluster":"another","base":5}`); err != nil {
		t.Fatal(err)
	}
	b := newLocker(t, c, "b", lockrt.Config{})
	second := acquire(t, b, "k", lockrt.Options{TTL: long})
	if second.Fence() <= first.Fence() {
		t.Errorf("fence %d after %d", second.Fence(), first.Fence())
	}
	if r, err := client.Get(t.Context(), base); err != nil || baseEpoch(t, r.Kvs[0].Value)+2000 < second.Fence().Epoch() {
		t.Errorf("epoch %d is that of a cluster's whole life: %v", second.Fence().Epoch(), err)
	}
	release(t, second)
	// It is deleted while processes run: they all agree on the next one.
	if _, err := client.Delete(t.Context(), base); err != nil {
		t.Fatal(err)
	}
	last := second.Fence()
	for _, locks := range []*lockrt.Locker{b, newLocker(t, c, "c", lockrt.Config{}), b} {
		lease := acquire(t, locks, "k", lockrt.Options{TTL: long})
		if lease.Fence() <= last {
			t.Errorf("fence %d after %d", lease.Fence(), last)
		}
		last = lease.Fence()
		release(t, lease)
	}
	if _, err := client.Put(context.Background(), base, "nonsense"); err != nil {
		t.Fatal(err)
	}
	_, err := newLocker(t, c, "d", lockrt.Config{}).TryAcquire(t.Context(), "k", lockrt.Options{TTL: long})
	says(t, err, base, "nonsense")
}

// baseEpoch is the time of a base.
func baseEpoch(t *testing.T, text []byte) uint64 {
	var made struct{ Base uint64 }
	if err := json.Unmarshal(text, &made); err != nil {
		t.Fatal(err)
	}
	return made.Base
}

// The folder of one store may be that of another one's namespace. They share no lock all the same.
func TestStore_nestedPrefix(t *testing.T) {
	c := start(t, 1, testetcd.Options{})
	open := func(prefix, namespace string) *lockrt.Locker {
		store := etcdstore.New(c.client(t), etcdstore.Config{Prefix: prefix})
		locks, err := lockrt.New(store, lockrt.Config{Namespace: namespace})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = locks.Close(context.Background()) })
		return locks
	}
	outer, inner := open("lockgen", "a"), open("lockgen/a", "l")
	keys := []string{"b", "k", "l", "s", "t"} // what the store's own folders are called
	var leases []*lockrt.Lease
	for _, locks := range []*lockrt.Locker{outer, inner} {
		for _, key := range keys {
			leases = append(leases, acquire(t, locks, key, lockrt.Options{TTL: long}))
		}
	}
	for _, locks := range []*lockrt.Locker{outer, inner} {
		infos, err := locks.List(t.Context(), "")
		if err != nil || len(infos) != len(keys) {
			t.Errorf("it lists %+v, %v; want the locks %q", infos, err, keys)
		}
	}
	for _, lease := range leases {
		release(t, lease)
	}
}

// A range of keys costs time for each name that was ever used in it, until the history is compacted. So a lock that is
// taken again and again needs few names, however its leases end.
func TestStore_fewNames(t *testing.T) {
	c := start(t, 1, testetcd.Options{})
	locks, other := newLocker(t, c, "a", lockrt.Config{LocalHandoffs: -1}), newLocker(t, c, "b", lockrt.Config{})
	const rounds = 20
	for range rounds {
		release(t, acquire(t, locks, "k", lockrt.Options{TTL: long, Wait: time.Minute}))
		release(t, acquire(t, locks, "k", lockrt.Options{TTL: long}))
		release(t, acquire(t, locks, "k", lockrt.Options{TTL: long, Permits: 2}))
		held := acquire(t, other, "k", lockrt.Options{TTL: long})
		if _, err := locks.Acquire(t.Context(), "k", lockrt.Options{TTL: long, Wait: 5 * time.Millisecond}); err == nil {
			t.Error("the lock has two holders")
		}
		release(t, held)
		o := lockrt.Options{TTL: long, Wait: time.Minute, MinHold: 20 * time.Millisecond}
		release(t, acquire(t, locks, "k", o))
		o = lockrt.Options{TTL: 20 * time.Millisecond, Wait: time.Minute, NoRenew: true}
		<-acquire(t, locks, "k", o).Done()
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	names, puts := make(map[string]bool), 0
	all := []etcd.OpOption{etcd.WithPrefix(), etcd.WithRev(1), etcd.WithFilterDelete()}
	for r := range c.client(t).Watch(ctx, "lockgen/~lock/l/k/", all...) {
		for _, event := range r.Events {
			names[string(event.Kv.Key)] = true
			puts++
		}
		if puts >= 6*rounds {
			break
		}
	}
	if len(names) > puts/3 { // on a busy machine a name may still be in use when the next contender comes
		t.Errorf("%d names for %d contenders: %v", len(names), puts, names)
	}
}
