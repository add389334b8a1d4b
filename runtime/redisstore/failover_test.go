package redisstore_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/lockgen/lockgen/internal/testenv"
	"github.com/lockgen/lockgen/internal/testsync"
	lockrt "github.com/lockgen/lockgen/runtime"
)

// TestOpen_clusterFailover takes a master away and waits for the promotion of its replica. Locks of its slots fail
// until then, and soon after it they do not.
func TestOpen_clusterFailover(t *testing.T) {
	t.Parallel()
	for name, takeAway := range map[string]func(*testenv.RedisServer) error{
		"killed": (*testenv.RedisServer).Kill, "frozen": (*testenv.RedisServer).Pause,
	} {
		t.Run(name, func(t *testing.T) {
			cluster := testenv.Cluster(t, 3, testenv.ClusterConfig{Replicas: 1, NodeTimeout: time.Second})
			ctx := testContext(t)
			var log testsync.Log
			locks, err := lockrt.Open(ctx, cluster.URL(), lockrt.Config{Logger: log.Logger()})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = locks.Close(context.Background()) })
			const lost = 1
			key := keyOf(t, cluster, lost)
			before := mustAcquire(ctx, t, locks, key, lockrt.Options{TTL: long})
			mustRelease(ctx, t, before)
			if err := takeAway(cluster.Nodes[lost]); err != nil {
				t.Fatal(err)
			}
			promoted := make(chan time.Time, 1)
			go func() {
				for !cluster.IsMaster(cluster.Replicas[lost]) && ctx.Err() == nil {
					time.Sleep(5 * time.Millisecond)
				}
				promoted <- time.Now()
			}()
			failures, began := 0, time.Now()
			var after *lockrt.Lease
			for after == nil {
				if after, err = locks.Acquire(ctx, key, lockrt.Options{TTL: long}); err != nil {
					failures++
					if ctx.Err() != nil {
						t.Fatalf("no lock any more: %v", err)
					}
				}
			}
			back := time.Since(<-promoted)
			t.Logf("%d attempts failed in %s; locks were back %s after the promotion", failures,
				time.Since(began).Round(time.Millisecond), back.Round(time.Millisecond))
			// By go-redis's own measure it would be up to a minute. What is asked for is far less than this bound,
			// which is for a machine that is busy.
			if back > 20*time.Second {
				t.Errorf("locks were back %s after the promotion", back)
			}
			if after.Fence() <= before.Fence() {
				t.Errorf("fence %d after the failover, %d before", after.Fence(), before.Fence())
			}
			mustRelease(ctx, t, after)
		})
	}
}

// keyOf returns a key whose lock the n-th master keeps.
func keyOf(t *testing.T, cluster *testenv.RedisCluster, n int) string {
	t.Helper()
	client := newClient(t, cluster.Nodes[0])
	slots := int64(16384 / len(cluster.Nodes))
	for i := range 1000 {
		key := fmt.Sprint("key", i)
		if slot := client.ClusterKeySlot(t.Context(), "lock:{"+key+"}").Val(); slot/slots == int64(n) && slot%slots > 2 {
			return key
		}
	}
	t.Fatal("no key of that master")
	return ""
}
