package zkstore_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/lockgen/lockgen/internal/testenv"
	lockrt "github.com/lockgen/lockgen/runtime"
)

// A process that holds very many locks dies. Its session ends in one change, which servers must be able to read again.
func TestStore_manyLocksOfADeadProcess(t *testing.T) {
	e := testenv.ZooKeeper(t, testenv.ZooKeeperConfig{Tick: tick, MaxSession: patient})
	n := newNode(t, e.Addrs(), config(dying), "a", lockrt.Config{})
	other := newLocker(t, e.Addrs(), config(patient), "b", lockrt.Config{})
	key := func(i int) string { return fmt.Sprint(strings.Repeat("k", 4000), i) }
	const many = 700
	var leases []*lockrt.Lease
	var full error
	for len(leases) < many && full == nil {
		lease, err := n.locks.TryAcquire(t.Context(), key(len(leases)), lockrt.Options{TTL: long})
		if full = err; err == nil {
			leases = append(leases, lease)
		}
	}
	if len(leases) < 200 {
		t.Fatalf("after %d locks: %v", len(leases), full)
	}
	says(t, full, "use another Locker")
	if errors.Is(full, lockrt.ErrBusy) {
		t.Errorf("the error says that somebody holds the lock: %v", full)
	}
	if full != nil { // there is room again, for those who wait as well
		release(t, leases[0])
		again := acquire(t, n.locks, "again", lockrt.Options{TTL: long, Wait: time.Minute})
		release(t, again)
		leases[0] = acquire(t, n.locks, key(0), lockrt.Options{TTL: long, Wait: time.Minute})
		if _, err := n.locks.Acquire(t.Context(), key(many), lockrt.Options{TTL: long, Wait: time.Minute}); err == nil {
			t.Error("there is room for ever more who wait")
		}
	}
	n.each((*testenv.Proxy).Silence)
	release(t, acquire(t, other, key(1), lockrt.Options{TTL: long, Wait: time.Minute}))
	if err := e.Servers[0].Restart(); err != nil {
		t.Fatal(err)
	}
	release(t, acquire(t, other, key(1), lockrt.Options{TTL: long, Wait: time.Minute}))
}

// What is given up, kept for the next caller, or released weighs nothing any more.
func TestStore_manyLocksOneAfterTheOther(t *testing.T) {
	e := one(t)
	a := newLocker(t, e.Addrs(), config(patient), "a", lockrt.Config{})
	b := newLocker(t, e.Addrs(), config(patient), "b", lockrt.Config{})
	key := strings.Repeat("ä", 2000) // 100 of these are too many
	for range 120 {
		release(t, acquire(t, a, key, lockrt.Options{TTL: long, Wait: time.Minute}))
		held := acquire(t, b, key, lockrt.Options{TTL: long, Wait: time.Minute})
		if _, err := a.TryAcquire(t.Context(), key, lockrt.Options{TTL: long}); !errors.Is(err, lockrt.ErrBusy) {
			t.Fatalf("%v, want ErrBusy", err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		first := make(chan error)
		go func() {
			_, err := a.Acquire(ctx, key, lockrt.Options{TTL: long, Wait: lockrt.Forever})
			first <- err
		}()
		eventually(t, "the first caller waits", func() bool {
			info, err := b.Holder(t.Context(), key)
			return err == nil && len(info.Waiters) > 0
		})
		second := make(chan *lockrt.Lease)
		go func() {
			lease, err := a.Acquire(t.Context(), key, lockrt.Options{TTL: long, Wait: time.Minute})
			if err != nil {
				t.Error(err)
			}
			second <- lease
		}()
		time.Sleep(time.Millisecond) // often it is there to take the place of the first one, which is what this is about
		cancel()
		if err := <-first; !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		release(t, held)
		if lease := <-second; lease != nil {
			release(t, lease)
		}
	}
}

// The servers give a session that is too short for any lease to last. The error says so, and what to do.
func TestStore_shortSession(t *testing.T) {
	e := testenv.ZooKeeper(t, testenv.ZooKeeperConfig{Tick: tick, MaxSession: dying})
	cfg := config(patient)
	cfg.Tick = 2 * time.Second
	for _, wait := range []time.Duration{0, time.Minute} {
		locks := newLocker(t, e.Addrs(), cfg, "a", lockrt.Config{})
		_, err := locks.Acquire(t.Context(), "k", lockrt.Options{TTL: long, Wait: wait})
		says(t, err, "session of 3s", "Tick is 2s", "maxSessionTimeout")
		if !errors.Is(err, lockrt.ErrOptions) {
			t.Errorf("%v, want ErrOptions", err)
		}
	}
	_, err := lockrt.Open(t.Context(), e.URL()+"?session=1h&tick=2s", lockrt.Config{})
	if !errors.Is(err, lockrt.ErrOptions) {
		t.Errorf("Open: %v, want ErrOptions", err)
	}
}

// A quota of the servers is used up.
func TestStore_quota(t *testing.T) {
	e, conn := withQuotas(t)
	locks := newLocker(t, e.Addrs(), config(patient), "a", lockrt.Config{})
	held := acquire(t, locks, "k", lockrt.Options{TTL: long})
	useUpQuota(t, e, conn)
	for _, wait := range []time.Duration{0, time.Minute} {
		_, err := locks.Acquire(t.Context(), "another", lockrt.Options{TTL: long, Wait: wait})
		says(t, err, "quota", "setquota")
		if errors.Is(err, lockrt.ErrBusy) {
			t.Errorf("the error says that somebody holds the lock: %v", err)
		}
	}
	release(t, held)
}

// A quota is used up when a lock is to be kept by MinHold. The lock is kept as it is, and free when that time is over.
func TestStore_quota_MinHold(t *testing.T) {
	e, conn := withQuotas(t)
	locks := newLocker(t, e.Addrs(), config(patient), "a", lockrt.Config{})
	const minHold = 5 * time.Second
	began := time.Now()
	held := acquire(t, locks, "k", lockrt.Options{TTL: long, MinHold: minHold})
	useUpQuota(t, e, conn)
	says(t, held.Release(t.Context()), "quota")
	eventually(t, "it is free", func() bool { return len(left(t, conn)) == 0 })
	if kept := time.Since(began); kept < minHold {
		t.Errorf("the lock was kept for %s, want %s", kept, minHold)
	}
}

// withQuotas starts a server that heeds quotas.
func withQuotas(t *testing.T) (*testenv.ZooKeeperEnsemble, *zk.Conn) {
	e := testenv.ZooKeeper(t, testenv.ZooKeeperConfig{
		Tick: tick, MaxSession: patient, Settings: []string{"enforceQuota=true"},
	})
	return e, client(t, e.Addrs())
}

// useUpQuota gives the prefix fewer nodes than it has. The server is restarted: it reads quotas then.
func useUpQuota(t *testing.T, e *testenv.ZooKeeperEnsemble, conn *zk.Conn) {
	t.Helper()
	const quota = "/zookeeper/quota/lockgen"
	mustCreate(t, conn, quota, "")
	mustCreate(t, conn, quota+"/zookeeper_limits", "countHardLimit=5")
	mustCreate(t, conn, quota+"/zookeeper_stats", "count=9,bytes=10")
	if err := e.Servers[0].Restart(); err != nil {
		t.Fatal(err)
	}
}
