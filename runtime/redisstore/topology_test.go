package redisstore_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockgen/lockgen/internal/testenv"
	"github.com/lockgen/lockgen/internal/testsync"
	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/redisstore"
	"github.com/lockgen/lockgen/runtime/storetest"
)

func TestStore_conformanceOnCluster(t *testing.T) {
	t.Parallel()
	cluster := testenv.Cluster(t, 3)
	storetest.Run(t, func(t *testing.T) lockrt.Store {
		client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: cluster.Addrs(), ContextTimeoutEnabled: true})
		t.Cleanup(func() { _ = client.Close() })
		return redisstore.New(client, redisstore.Config{})
	})
}

// TestStore_clusterSlotMigration moves the slot of a key to another node while the key is held and waited for.
func TestStore_clusterSlotMigration(t *testing.T) {
	t.Parallel()
	cluster := testenv.Cluster(t, 2)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	open := func() *lockrt.Locker {
		locks, err := lockrt.Open(ctx, cluster.URL(), lockrt.Config{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = locks.Close(context.Background()) })
		return locks
	}
	a, b := open(), open()
	lease, err := a.Acquire(ctx, "k", lockrt.Options{TTL: 3 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	got := make(chan error, 1)
	go func() {
		next, err := b.Acquire(ctx, "k", lockrt.Options{TTL: 3 * time.Second, Wait: lockrt.Forever})
		if err == nil && next.Fence() <= lease.Fence() {
			err = fmt.Errorf("fence %d after %d", next.Fence(), lease.Fence())
		}
		got <- errors.Join(err, next.Release(ctx))
	}()
	testsync.Eventually(t, "the waiter is in the queue", func() bool {
		info, err := a.Holder(ctx, "k")
		return err == nil && len(info.Waiters) == 1
	})
	migrate(t, cluster, "lock:{k}")
	first := lease.Deadline()
	testsync.Eventually(t, "the lease is renewed on the new node", func() bool { return lease.Deadline().After(first) || lease.Err() != nil })
	if err := lease.Release(ctx); err != nil {
		t.Errorf("release after the migration: %v", err)
	}
	if err := <-got; err != nil {
		t.Errorf("the waiter after the migration: %v", err)
	}
}

// migrate moves the slot of key from the node that has it to the other.
func migrate(t *testing.T, cluster *testenv.RedisCluster, key string) {
	t.Helper()
	beginMigration(t, cluster, key)()
}

// beginMigration has the slot of a key move to the other of two nodes, and returns what moves its keys.
func beginMigration(t *testing.T, cluster *testenv.RedisCluster, key string) (finish func()) {
	t.Helper()
	ctx := t.Context()
	from, to := newClient(t, cluster.Nodes[0]), newClient(t, cluster.Nodes[1])
	target := cluster.Nodes[1]
	slot := from.ClusterKeySlot(ctx, key).Val()
	if slot >= 16384/2 {
		from, to, target = to, from, cluster.Nodes[0]
	}
	fromID, _ := from.Do(ctx, "CLUSTER", "MYID").Text()
	toID, _ := to.Do(ctx, "CLUSTER", "MYID").Text()
	for _, step := range []*redis.Cmd{
		to.Do(ctx, "CLUSTER", "SETSLOT", slot, "IMPORTING", fromID),
		from.Do(ctx, "CLUSTER", "SETSLOT", slot, "MIGRATING", toID),
	} {
		if err := step.Err(); err != nil {
			t.Fatal(err)
		}
	}
	return func() {
		t.Helper()
		keys, err := from.ClusterGetKeysInSlot(ctx, int(slot), 100).Result()
		if err != nil || len(keys) == 0 {
			t.Fatalf("the slot holds %q (error %v), want the lock's keys", keys, err)
		}
		host, port, err := net.SplitHostPort(target.Addr())
		if err != nil {
			t.Fatal(err)
		}
		args := []any{"MIGRATE", host, port, "", 0, 5000, "KEYS"}
		for _, key := range keys {
			args = append(args, key)
		}
		if err := from.Do(ctx, args...).Err(); err != nil {
			t.Fatal(err)
		}
		for _, node := range []*redis.Client{to, from} {
			if err := node.Do(ctx, "CLUSTER", "SETSLOT", slot, "NODE", toID).Err(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestStore_clusterSlotMigration_release releases a lock in the middle: the one who waits gets it there, and gives it
// back when its keys have moved.
func TestStore_clusterSlotMigration_release(t *testing.T) {
	t.Parallel()
	cluster := testenv.Cluster(t, 2)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	open := func() *lockrt.Locker {
		locks, err := lockrt.Open(ctx, cluster.URL(), lockrt.Config{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = locks.Close(context.Background()) })
		return locks
	}
	a, b := open(), open()
	lease := mustAcquire(ctx, t, a, "k", lockrt.Options{TTL: long})
	next := acquiring(ctx, b, "k", lockrt.Options{TTL: long, Wait: lockrt.Forever})
	queued(t, a, "k", 1)
	// Who asks meanwhile gets no answer, and would have to before it is subscribed.
	testsync.Eventually(t, "both are subscribed", func() bool {
		channels := 0
		for _, node := range cluster.Nodes {
			channels += len(newClient(t, node).PubSubChannels(ctx, "lockgen:*").Val())
		}
		return channels == 2
	})
	finish := beginMigration(t, cluster, "lock:{k}")
	mustRelease(ctx, t, lease)
	taken := (<-next).follows(t, lease)
	third := acquiring(ctx, a, "k", lockrt.Options{TTL: long, Wait: lockrt.Forever})
	released := make(chan error, 1)
	go func() { released <- taken.Release(ctx) }() // three of the four keys are there: the server wants it to try again
	finish()
	if err := <-released; err != nil {
		t.Errorf("release while the keys move: %v", err)
	}
	mustRelease(ctx, t, (<-third).follows(t, taken))
}

// TestStore_sentinelFailover kills the master. The replica may not have heard of the last leases; whoever acquires
// after it must have a higher fence, and a holder that was forgotten must be told.
func TestStore_sentinelFailover(t *testing.T) {
	t.Parallel()
	sentinel := testenv.Sentinel(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	oneAway := strings.Replace(sentinel.URL(), "://", "://127.0.0.1:1,", 1)
	locks, err := lockrt.Open(ctx, oneAway, lockrt.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = locks.Close(context.Background()) })
	kept, err := locks.Acquire(ctx, "kept", lockrt.Options{TTL: 20 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	replica := newClient(t, sentinel.Replica)
	testsync.Eventually(t, "the replica has the lease", func() bool { return replica.Exists(ctx, "lock:{kept}").Val() == 1 })
	sentinel.Master.Kill()
	var after *lockrt.Lease
	testsync.Eventually(t, "the new master gives a lock", func() bool {
		after, err = locks.Acquire(ctx, "k", lockrt.Options{TTL: 20 * time.Second})
		return err == nil
	})
	if after.Fence() <= kept.Fence() {
		t.Errorf("fence %d after the failover, %d before", after.Fence(), kept.Fence())
	}
	first := kept.Deadline()
	testsync.Eventually(t, "the lease is renewed on the new master", func() bool { return kept.Deadline().After(first) || kept.Err() != nil })
	for _, lease := range []*lockrt.Lease{kept, after} {
		if err := lease.Release(ctx); err != nil {
			t.Errorf("release after the failover: %v", err)
		}
	}
}

// TestStore_sentinelPlannedFailover has the Sentinels make the replica the master. The old one goes on as a master for
// some seconds: what it renews is worth nothing.
func TestStore_sentinelPlannedFailover(t *testing.T) {
	t.Parallel()
	sentinel := testenv.Sentinel(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	locks, err := lockrt.Open(ctx, sentinel.URL(), lockrt.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = locks.Close(context.Background()) })
	lease := mustAcquire(ctx, t, locks, "k", lockrt.Options{TTL: 5 * time.Second})
	replica := newClient(t, sentinel.Replica)
	testsync.Eventually(t, "the replica has the lease", func() bool { return replica.Exists(ctx, "lock:{k}").Val() == 1 })
	asked := redis.NewClient(&redis.Options{Addr: sentinel.Addrs()[0]})
	t.Cleanup(func() { _ = asked.Close() })
	if err := asked.Do(ctx, "SENTINEL", "FAILOVER", testenv.SentinelMaster).Err(); err != nil {
		t.Fatal(err)
	}
	testsync.Eventually(t, "the replica is the master", func() bool {
		return strings.Contains(replica.Info(ctx, "replication").Val(), "role:master")
	})
	// More renewals than it takes for the lease to run out where nobody renews it.
	for range 6 {
		last := lease.Deadline()
		testsync.Eventually(t, "the lease is renewed or lost", func() bool {
			return lease.Deadline().After(last) || lease.Err() != nil
		})
	}
	if lease.Err() == nil && replica.Exists(ctx, "lock:{k}").Val() == 0 {
		t.Error("the lease lives, and the new master would give its lock to others")
	}
}
