package zkstore_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/lockgen/lockgen/internal/testenv"
	lockrt "github.com/lockgen/lockgen/runtime"
)

var everybody = zk.WorldACL(zk.PermAll)

func mustCreate(t testing.TB, conn *zk.Conn, path, data string) {
	t.Helper()
	if _, err := conn.Create(path, []byte(data), 0, everybody); err != nil {
		t.Fatalf("create %q: %v", path, err)
	}
}

// The root of ZooKeeper is closed to the user, as operators like it, and the prefix is there for him.
func TestStore_user_rootIsClosed(t *testing.T) {
	e := testenv.ZooKeeper(t, testenv.ZooKeeperConfig{Tick: tick, MaxSession: patient})
	conn := client(t, e.Addrs())
	if _, err := conn.Create("/myteam", nil, 0, zk.DigestACL(zk.PermAll, "app", "secret")); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.SetACL("/", zk.WorldACL(zk.PermRead), -1); err != nil {
		t.Fatal(err)
	}
	cfg := config(patient)
	cfg.User, cfg.Password = "app", "secret"
	for _, cfg.Prefix = range []string{"myteam", "myteam/deep/er"} {
		release(t, acquire(t, newLocker(t, e.Addrs(), cfg, "a", lockrt.Config{}), "k", lockrt.Options{TTL: long}))
	}
	cfg.Prefix = "another"
	_, err := newLocker(t, e.Addrs(), cfg, "b", lockrt.Config{}).TryAcquire(t.Context(), "k", lockrt.Options{TTL: long})
	says(t, err, "/another", "all rights")
}

// Somebody has put nodes beside those of a lock.
func TestStore_strangersBesideContenders(t *testing.T) {
	e := one(t)
	conn := client(t, e.Addrs())
	a := newLocker(t, e.Addrs(), config(patient), "a", lockrt.Config{})
	b := newLocker(t, e.Addrs(), config(patient), "b", lockrt.Config{})
	for _, name := range []string{"~", "x", "~x", "-0000000000", "0000000000", "x~", "x~y", "%zz~0000000001", "~%zz",
		"~y", "~y/child"} {
		held := acquire(t, a, "k", lockrt.Options{TTL: long, Wait: time.Minute})
		mustCreate(t, conn, root(t)+"/l/k/"+name, "{")
		if infos, err := b.List(t.Context(), ""); err != nil || len(infos) != 1 || infos[0].Node != "a" {
			t.Errorf("beside %q it lists %+v, %v", name, infos, err)
		}
		if _, err := b.TryAcquire(t.Context(), "k", lockrt.Options{TTL: long}); !errors.Is(err, lockrt.ErrBusy) {
			t.Errorf("beside %q: %v, want ErrBusy", name, err)
		}
		release(t, held)
		release(t, acquire(t, b, "k", lockrt.Options{TTL: long}))
	}
}

// Somebody has deleted the folder for what MinHold keeps. The lock is kept all the same, and goes on.
func TestStore_MinHold_folderIsGone(t *testing.T) {
	e := one(t)
	conn := client(t, e.Addrs())
	a := newLocker(t, e.Addrs(), config(patient), "a", lockrt.Config{})
	b := newLocker(t, e.Addrs(), config(patient), "b", lockrt.Config{})
	c := newLocker(t, e.Addrs(), config(patient), "c", lockrt.Config{})
	if _, err := c.List(t.Context(), ""); err != nil { // its session makes the folders once
		t.Fatal(err)
	}
	held := acquire(t, a, "k", lockrt.Options{TTL: long, MinHold: time.Hour})
	if err := conn.Delete(root(t)+"/k", -1); err != nil {
		t.Fatal(err)
	}
	if err := held.Release(t.Context()); err != nil {
		t.Errorf("release: %v", err)
	}
	info, err := b.Holder(t.Context(), "k")
	if err != nil || info.ID != "" || info.Remaining < 50*time.Minute {
		t.Errorf("the lock is %+v, %v; want it kept", info, err)
	}
	names, _, err := conn.Children(root(t) + "/k")
	for _, name := range names {
		err = errors.Join(err, conn.Delete(root(t)+"/k/"+name, -1))
	}
	if err := errors.Join(err, conn.Delete(root(t)+"/k", -1)); err != nil {
		t.Fatal(err)
	}
	if _, err := c.TryAcquire(t.Context(), "k", lockrt.Options{TTL: long}); !errors.Is(err, lockrt.ErrBusy) {
		t.Errorf("try of a kept lock: %v, want ErrBusy", err)
	}
	if err := b.Break(t.Context(), "k", "test"); err != nil {
		t.Error(err)
	}
	mustBeEmpty(t, conn)
}

// Somebody has deleted the nodes of the sessions, and their folder. Holders can be told again, after a while.
func TestStore_sessionsAreGone(t *testing.T) {
	e := one(t)
	conn := client(t, e.Addrs())
	a := newLocker(t, e.Addrs(), config(patient), "a", lockrt.Config{})
	held := acquire(t, a, "k", lockrt.Options{TTL: long})
	names, _, err := conn.Children(root(t) + "/s")
	for _, name := range names {
		err = errors.Join(err, conn.Delete(root(t)+"/s/"+name, -1))
	}
	if err = errors.Join(err, conn.Delete(root(t)+"/s", -1)); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the session has its node again", func() bool {
		there, _, err := conn.Exists(root(t) + "/s/" + strings.Join(names, ""))
		return there && err == nil
	})
	if err := held.Err(); err != nil {
		t.Errorf("the lease: %v", err)
	}
	b := newLocker(t, e.Addrs(), config(patient), "b", lockrt.Config{})
	if err := b.Break(t.Context(), "k", "test"); err != nil {
		t.Fatal(err)
	}
	<-held.Done()
}

// What others have put into the folder of kept locks neither keeps those from being swept up, nor is what it names.
func TestStore_sweep_strangers(t *testing.T) {
	e := one(t)
	conn := client(t, e.Addrs())
	a := newLocker(t, e.Addrs(), config(patient), "a", lockrt.Config{})
	release(t, acquire(t, a, "k", lockrt.Options{TTL: long, MinHold: 300 * time.Millisecond}))
	if err := a.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	const elsewhere = "/elsewhere-of-the-sweep"
	mustCreate(t, conn, elsewhere, "")
	mustCreate(t, conn, root(t)+"/k/pointer", elsewhere)
	for i := range 20 {
		mustCreate(t, conn, fmt.Sprint(root(t), "/k/garbage", i), "no path")
	}
	b := newLocker(t, e.Addrs(), config(patient), "b", lockrt.Config{})
	kept := func() (n int) {
		for _, path := range left(t, conn) {
			if !strings.Contains(path, "/garbage") && !strings.Contains(path, "/pointer") {
				n++
			}
		}
		return n
	}
	if n := kept(); n != 2 {
		t.Fatalf("%d nodes keep the lock, want 2", n)
	}
	time.Sleep(400 * time.Millisecond)
	release(t, acquire(t, b, "another", lockrt.Options{TTL: long}))
	eventually(t, "the kept lock is swept up", func() bool { return kept() == 0 })
	if there, _, err := conn.Exists(elsewhere); !there || err != nil {
		t.Errorf("the node that a stranger named: there %t, %v", there, err)
	}
}

// One lock that a dead process has kept may not be deleted. All others are swept up.
func TestStore_sweep_refused(t *testing.T) {
	e := one(t)
	conn := client(t, e.Addrs())
	a := newLocker(t, e.Addrs(), config(patient), "a", lockrt.Config{})
	const keys = 11
	for i := range keys {
		release(t, acquire(t, a, fmt.Sprint("k", i), lockrt.Options{TTL: long, MinHold: 300 * time.Millisecond}))
	}
	if err := a.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i := range keys - 1 { // the order of names is not known: each but the last is in the way of others
		lock := fmt.Sprint(root(t), "/l/k", i)
		if _, err := conn.SetACL(lock, zk.WorldACL(zk.PermRead|zk.PermAdmin), -1); err != nil {
			t.Fatal(err)
		}
	}
	time.Sleep(400 * time.Millisecond)
	b := newLocker(t, e.Addrs(), config(patient), "b", lockrt.Config{})
	release(t, acquire(t, b, "another", lockrt.Options{TTL: long}))
	eventually(t, "the lock that may be deleted is swept up", func() bool {
		names, _, err := conn.Children(fmt.Sprint(root(t), "/l/k", keys-1))
		return errors.Is(err, zk.ErrNoNode) || err == nil && len(names) == 0
	})
	for i := range keys - 1 {
		if _, err := conn.SetACL(fmt.Sprint(root(t), "/l/k", i), everybody, -1); err != nil {
			t.Fatal(err)
		}
	}
}

// Somebody takes a right away for a moment in which a lock is released. It is free when the right is back, and not only
// when its process ends.
func TestStore_releaseIsRefusedForAWhile(t *testing.T) {
	e := one(t)
	conn := client(t, e.Addrs())
	a := newLocker(t, e.Addrs(), config(patient), "a", lockrt.Config{})
	held := acquire(t, a, "k", lockrt.Options{TTL: long})
	lock := root(t) + "/l/k"
	if _, err := conn.SetACL(lock, zk.WorldACL(zk.PermRead|zk.PermAdmin), -1); err != nil {
		t.Fatal(err)
	}
	says(t, held.Release(t.Context()), "all rights")
	time.Sleep(100 * time.Millisecond) // it is tried again
	if _, err := conn.SetACL(lock, everybody, -1); err != nil {
		t.Fatal(err)
	}
	b := newLocker(t, e.Addrs(), config(patient), "b", lockrt.Config{})
	release(t, acquire(t, b, "k", lockrt.Options{TTL: long, Wait: 20 * time.Second}))
	mustBeEmpty(t, conn)
}
