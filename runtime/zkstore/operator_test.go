package zkstore_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/lockgen/lockgen/internal/testenv"
	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/zkstore"
)

// A lease is never granted for longer than the session lasts, whatever is asked for. It is renewed all the same, and
// Extend says what the limit is.
func TestStore_longTTL(t *testing.T) {
	e := one(t)
	locks := newLocker(t, e.Addrs(), config(dying), "a", lockrt.Config{})
	asked := time.Now()
	lease := acquire(t, locks, "k", lockrt.Options{TTL: long})
	if most := asked.Add(dying - tick); lease.Deadline().After(most) {
		t.Errorf("the lease lasts %s, in a session of %s with ticks of %s", lease.Deadline().Sub(asked), dying, tick)
	}
	says(t, lease.Extend(t.Context(), long), "SessionTimeout")
	eventually(t, "the lease outlives the session's timeout", func() bool {
		return lease.Deadline().After(asked.Add(2*dying)) || lease.Err() != nil
	})
	if err := lease.Extend(t.Context(), time.Second); err != nil {
		t.Errorf("extend by less: %v", err)
	}
	release(t, lease)
}

// A lease that is extended has been held since it was asked for.
func TestStore_Extend_keepsSince(t *testing.T) {
	e := one(t)
	locks := newLocker(t, e.Addrs(), config(patient), "a", lockrt.Config{})
	lease := acquire(t, locks, "k", lockrt.Options{TTL: time.Second})
	before, err := locks.Holder(t.Context(), "k")
	if err == nil {
		err = lease.Extend(t.Context(), time.Minute)
	}
	after, err2 := locks.Holder(t.Context(), "k")
	if err := errors.Join(err, err2); err != nil || !after.Since.Equal(before.Since) {
		t.Errorf("held since %s, and after Extend since %s, %v", before.Since, after.Since, err)
	}
	release(t, lease)
}

// Somebody deletes the node of a waiter, of a holder, and of the session.
func TestStore_deletedNodes(t *testing.T) {
	e := one(t)
	conn := client(t, e.Addrs())
	a := newLocker(t, e.Addrs(), config(patient), "a", lockrt.Config{})
	b := newLocker(t, e.Addrs(), config(patient), "b", lockrt.Config{})
	blocker := acquire(t, a, "k", lockrt.Options{TTL: long})
	waiter := waits(t, b, "k")
	id := waiters(t, a, "k")[0].ID
	for _, path := range left(t, conn) {
		if strings.Contains(path, id) {
			if err := conn.Delete(path, -1); err != nil {
				t.Fatal(err)
			}
		}
	}
	release(t, blocker) // and the waiter looks
	next := <-waiter
	if next.Fence() <= blocker.Fence() {
		t.Errorf("fence %d after %d", next.Fence(), blocker.Fence())
	}
	for _, path := range left(t, conn) {
		if err := conn.Delete(path, -1); err != nil {
			t.Fatal(err)
		}
	}
	if err := next.Check(t.Context()); !errors.Is(err, lockrt.ErrLost) {
		t.Errorf("check of a lease whose node is gone: %v, want ErrLost", err)
	}
	_ = next.Release(t.Context())
	sessions, _, err := conn.Children(root(t) + "/s")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range sessions {
		if err := conn.Delete(root(t)+"/s/"+name, -1); err != nil {
			t.Fatal(err)
		}
	}
	held := acquire(t, a, "k", lockrt.Options{TTL: long}) // it is used, so its node comes again
	if err := b.Break(t.Context(), "k", "test"); err != nil {
		t.Error(err)
	}
	if err := held.Check(t.Context()); !errors.Is(err, lockrt.ErrLost) {
		t.Errorf("check of a broken lease: %v, want ErrLost", err)
	}
	_ = held.Release(t.Context())
	mustBeEmpty(t, conn)
}

// After Close nothing is left, except locks that MinHold keeps. What the dead have kept is swept up, at the time of the
// leader's clock.
func TestStore_Close_leavesNothing(t *testing.T) {
	e := one(t)
	conn := client(t, e.Addrs())
	locks := newLocker(t, e.Addrs(), config(patient), "a", lockrt.Config{})
	acquire(t, locks, "k", lockrt.Options{TTL: long})
	acquire(t, locks, "l", lockrt.Options{TTL: time.Second})
	const short = 2 * time.Second
	began := time.Now()
	acquire(t, locks, "short", lockrt.Options{TTL: long, MinHold: short})
	acquire(t, locks, "long", lockrt.Options{TTL: long, MinHold: time.Hour})
	if err := locks.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if paths := left(t, conn); len(paths) != 4 { // two locks, and where they are
		t.Errorf("left are %q, want the two kept locks", paths)
	}
	b := newLocker(t, e.Addrs(), config(patient), "b", lockrt.Config{})
	lease := acquire(t, b, "short", lockrt.Options{TTL: long, Wait: time.Minute})
	if kept := time.Since(began); kept < short {
		t.Errorf("the lock was kept for %s, want %s", kept, short)
	}
	release(t, lease)
	if _, err := b.TryAcquire(t.Context(), "long", lockrt.Options{TTL: long}); !errors.Is(err, lockrt.ErrBusy) {
		t.Errorf("a kept lock: %v, want ErrBusy", err)
	}
	info, err := b.Holder(t.Context(), "long")
	if err != nil || info.ID != "" || info.Remaining > time.Hour || info.Remaining < 50*time.Minute {
		t.Errorf("the kept lock is %+v, %v", info, err)
	}
	if err := b.Break(t.Context(), "long", "test"); err != nil {
		t.Error(err)
	}
	mustBeEmpty(t, conn)
}

// The session of ZooKeeper ends that has kept a lock, and not its process. It ends that in time all the same.
func TestStore_MinHold_longerThanTheSession(t *testing.T) {
	e := one(t)
	conn := client(t, e.Addrs())
	n := newNode(t, e.Addrs(), config(dying), "a", lockrt.Config{})
	const minHold = 7 * time.Second
	began := time.Now()
	release(t, acquire(t, n.locks, "k", lockrt.Options{TTL: time.Second, MinHold: minHold}))
	n.each((*testenv.Proxy).Silence)
	eventually(t, "the servers forget the session", func() bool {
		all, _, err := conn.Children(root(t) + "/s")
		return err == nil && len(all) == 0
	})
	n.each((*testenv.Proxy).Resume)
	n.each((*testenv.Proxy).Cut)
	release(t, acquire(t, n.locks, "another", lockrt.Options{TTL: time.Second, Wait: time.Minute}))
	if len(left(t, conn)) == 0 {
		t.Fatalf("the lock is not kept after %s", time.Since(began))
	}
	mustBeEmpty(t, conn)
	if kept := time.Since(began); kept < minHold {
		t.Errorf("the lock was kept for %s, want %s", kept, minHold)
	}
}

// A process keeps a lock and dies, and nobody asks for that lock again: the next process sweeps it up.
func TestStore_keptByTheDead(t *testing.T) {
	e := one(t)
	conn := client(t, e.Addrs())
	locks := newLocker(t, e.Addrs(), config(patient), "a", lockrt.Config{})
	release(t, acquire(t, locks, "k", lockrt.Options{TTL: long, MinHold: 300 * time.Millisecond}))
	if err := locks.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if paths := left(t, conn); len(paths) != 2 {
		t.Errorf("left are %q, want the kept lock", paths)
	}
	time.Sleep(400 * time.Millisecond)
	b := newLocker(t, e.Addrs(), config(patient), "b", lockrt.Config{})
	release(t, acquire(t, b, "another", lockrt.Options{TTL: long}))
	mustBeEmpty(t, conn)
}

// Force does not wait for the holder, which is told when it can be reached again.
func TestStore_Force(t *testing.T) {
	e := one(t)
	n := newNode(t, e.Addrs(), config(patient), "a", lockrt.Config{})
	b := newLocker(t, e.Addrs(), config(patient), "b", lockrt.Config{})
	held := acquire(t, n.locks, "k", lockrt.Options{TTL: time.Minute})
	n.each((*testenv.Proxy).Silence)
	if err := b.Force(t.Context(), "k", "its machine burnt down"); err != nil {
		t.Fatal(err)
	}
	next := acquire(t, b, "k", lockrt.Options{TTL: long, Wait: time.Minute})
	if next.Fence() <= held.Fence() {
		t.Errorf("fence %d after %d", next.Fence(), held.Fence())
	}
	n.each((*testenv.Proxy).Resume)
	<-held.Done()
	if err := held.Err(); !errors.Is(err, lockrt.ErrLost) || !strings.Contains(err.Error(), "burnt down") {
		t.Errorf("the error is %v, want ErrLost and why", err)
	}
	release(t, next)
}

// Fences go on from those of a database, which counts on the clock. A copy of the nodes in another ensemble has a
// younger base.
func TestStore_base(t *testing.T) {
	e := one(t)
	conn := client(t, e.Addrs())
	locks := newLocker(t, e.Addrs(), config(patient), "a", lockrt.Config{})
	first := acquire(t, locks, "k", lockrt.Options{TTL: long})
	if now := uint64(time.Now().Add(-time.Hour).UnixMicro()); first.Fence().Epoch() < now {
		t.Errorf("epoch %d is below the clock, as a database counts", first.Fence().Epoch())
	}
	release(t, first)
	if err := locks.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := conn.Delete(root(t)+"/b", -1); err != nil {
		t.Fatal(err)
	}
	_, err := newLocker(t, e.Addrs(), config(patient), "b", lockrt.Config{}).
		TryAcquire(t.Context(), "k", lockrt.Options{TTL: long})
	if err != nil {
		t.Errorf("without a base: %v", err)
	}
}

// With a user nobody else may look, and the error says what is wrong.
func TestStore_user(t *testing.T) {
	e := one(t)
	cfg := config(patient)
	cfg.Prefix, cfg.User, cfg.Password = "guarded", "app", "p@ss:word"
	release(t, acquire(t, newLocker(t, e.Addrs(), cfg, "a", lockrt.Config{}), "k", lockrt.Options{TTL: long}))
	n := newNode(t, e.Addrs(), cfg, "n", lockrt.Config{})
	release(t, acquire(t, n.locks, "k", lockrt.Options{TTL: long}))
	n.each((*testenv.Proxy).Cut) // the next connection needs the name, too
	release(t, acquire(t, n.locks, "k", lockrt.Options{TTL: long, Wait: time.Minute}))
	cfg.Password = "wrong"
	_, err := newLocker(t, e.Addrs(), cfg, "b", lockrt.Config{}).TryAcquire(t.Context(), "k", lockrt.Options{TTL: long})
	says(t, err, "all rights", "/guarded")
	if !errors.Is(err, zk.ErrNoAuth) {
		t.Errorf("the error does not wrap the client's: %v", err)
	}
	if strings.Contains(err.Error(), "wrong") {
		t.Errorf("the error has the password: %v", err)
	}
}

// Readers and permits are not supported, and nothing is written for them.
func TestStore_modes(t *testing.T) {
	e := one(t)
	locks := newLocker(t, e.Addrs(), config(patient), "a", lockrt.Config{})
	for _, o := range []lockrt.Options{{TTL: long, Mode: lockrt.Read}, {TTL: long, Permits: 3}} {
		if _, err := locks.TryAcquire(t.Context(), "k", o); !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("%+v: %v, want errors.ErrUnsupported", o, err)
		}
	}
}

func TestOpen(t *testing.T) {
	e := one(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	url := strings.Replace(e.URL(), "zk://", "zk://app:secret@", 1) + "/my/own.prefix?session=30s&tick=500ms"
	locks, err := lockrt.Open(ctx, url, lockrt.Config{})
	if err != nil {
		t.Fatal(err)
	}
	release(t, acquire(t, locks, "k", lockrt.Options{TTL: long}))
	if err := locks.Close(ctx); err != nil {
		t.Error(err)
	}
	if _, ok := locks.Store().(*zkstore.Store); !ok {
		t.Errorf("the store is a %T", locks.Store())
	}
}

// The folder of one store may be that of another one's namespace. They share no lock all the same.
func TestStore_nestedPrefix(t *testing.T) {
	e := one(t)
	open := func(prefix, namespace string) *lockrt.Locker {
		cfg := config(patient)
		cfg.Prefix = prefix
		locks, err := lockrt.New(zkstore.New(e.Addrs(), cfg), lockrt.Config{Namespace: namespace})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = locks.Close(context.Background()) })
		return locks
	}
	outer, inner := open("nested", "a"), open("nested/a", "l")
	keys := []string{"b", "k", "l", "s", "t"} // what the store's own folders are called
	var leases []*lockrt.Lease
	for _, locks := range []*lockrt.Locker{outer, inner} {
		for _, key := range keys {
			leases = append(leases, acquire(t, locks, key, lockrt.Options{TTL: time.Minute}))
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
