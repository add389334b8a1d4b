package redisstore

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockgen/lockgen/internal/testenv"
	lockrt "github.com/lockgen/lockgen/runtime"
)

// On a cluster the leases of one slot share a script, as they do on a single server.
func TestSession_renewOnClusterGroupsBySlot(t *testing.T) {
	t.Parallel()
	cluster := testenv.Cluster(t, 3)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: cluster.Addrs(), ContextTimeoutEnabled: true})
	t.Cleanup(func() { _ = client.Close() })
	opened, err := New(client, Config{}).Open(lockrt.SessionConfig{
		Namespace: "lock", Node: "node", Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = opened.Close(context.Background()) })

	const perSlot = renewChunk + 20
	var renewals []lockrt.Renewal
	for _, name := range namesInSlots(perSlot, 1, clusterSlots/2, clusterSlots-2) { // one slot on each node
		r := lockrt.Renewal{Key: name, ID: "id-" + name, TTL: time.Minute}
		if _, err := opened.Acquire(ctx, lockrt.Request{Key: name, ID: r.ID, TTL: r.TTL}); err != nil {
			t.Fatal(err)
		}
		renewals = append(renewals, r)
	}
	lost := 2*perSlot + 7
	if err := opened.Release(ctx, lockrt.Release{Key: renewals[lost].Key, ID: renewals[lost].ID}); err != nil {
		t.Fatal(err)
	}
	for _, node := range cluster.Nodes {
		direct := dialNode(t, node)
		if err := errors.Join(direct.ScriptLoad(ctx, renewScript.Source).Err(), direct.ConfigResetStat(ctx).Err()); err != nil {
			t.Fatal(err)
		}
	}
	for i, err := range opened.Renew(ctx, renewals) {
		switch {
		case i == lost && !errors.Is(err, lockrt.ErrLost):
			t.Errorf("the renewal of the lease that was released returns %v, want ErrLost", err)
		case i != lost && err != nil:
			t.Errorf("lease %d: %v", i, err)
		}
	}
	for i, node := range cluster.Nodes {
		direct := dialNode(t, node)
		if calls := evalshaCalls(t, direct); calls != 2 {
			t.Errorf("node %d was sent %d scripts to renew %d leases of one slot, want 2", i, calls, perSlot)
		}
	}
}

func dialNode(t *testing.T, node *testenv.RedisServer) *redis.Client {
	t.Helper()
	client := redis.NewClient(&redis.Options{Addr: node.Addr()})
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// namesInSlots returns n names for each slot, mixed.
func namesInSlots(n int, slots ...int) (names []string) {
	found := make(map[int]int)
	for _, slot := range slots {
		found[slot] = 0
	}
	for i := 0; len(names) < n*len(slots); i++ {
		name := fmt.Sprint("order:", i)
		if have, ok := found[slotOf(name)]; ok && have < n {
			found[slotOf(name)]++
			names = append(names, name)
		}
	}
	return names
}

func evalshaCalls(t *testing.T, client *redis.Client) (calls int) {
	t.Helper()
	stats := client.InfoMap(t.Context(), "commandstats")
	if err := stats.Err(); err != nil {
		t.Fatal(err)
	}
	if line, ok := stats.Val()["Commandstats"]["cmdstat_evalsha"]; ok {
		if _, err := fmt.Sscanf(line, "calls=%d,", &calls); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
	}
	return calls
}

// The server is the one to say in which slot a key is.
func TestSlotOf_isThatOfTheServer(t *testing.T) {
	t.Parallel()
	cluster := testenv.Cluster(t, 1)
	client := dialNode(t, cluster.Nodes[0])
	space := newKeySpace("a {name}space")
	for _, name := range []string{"k", "order:42", "with {braces}", "{}", "}{", "100%", "Zürich", "line\nbreak"} {
		keys := space.keys(name)
		for _, key := range keys.all() {
			if want := client.ClusterKeySlot(t.Context(), key).Val(); int64(slotOf(name)) != want {
				t.Errorf("the slot of %q is %d, the server says %d for %q", name, slotOf(name), want, key)
			}
		}
	}
}

// A key that another program has overwritten must not cost the leases that share its script.
func TestSession_renewBesideAForeignKey(t *testing.T) {
	r := newRig(t)
	s, _ := r.newSession(Config{})
	var renewals []lockrt.Renewal
	for _, name := range []string{"before", "foreign", "after"} {
		if _, err := s.Acquire(r.ctx, lockrt.Request{Key: name, ID: name, TTL: time.Minute}); err != nil {
			t.Fatal(err)
		}
		renewals = append(renewals, lockrt.Renewal{Key: name, ID: name, TTL: time.Hour})
	}
	foreign := s.space.keys("foreign").lock
	del, set := r.client.Del(r.ctx, foreign), r.client.HSet(r.ctx, foreign, "another", "program")
	if err := errors.Join(del.Err(), set.Err()); err != nil {
		t.Fatal(err)
	}
	for i, err := range s.Renew(r.ctx, renewals) {
		if name := renewals[i].Key; (err == nil) != (name != "foreign") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if left := r.client.PTTL(r.ctx, s.space.keys("after").lock).Val(); left <= time.Minute {
		t.Errorf("the lease after the foreign one has %s left, want the hour of its renewal", left)
	}
}
