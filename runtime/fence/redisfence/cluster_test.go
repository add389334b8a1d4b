package redisfence_test

import (
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/lockgen/lockgen/internal/testenv"
	"github.com/lockgen/lockgen/runtime/fence/redisfence"
)

// newCluster is a cluster of one node: that is enough for the server to insist on slots.
func newCluster(t *testing.T) (redisfence.Redis, *redis.ClusterClient) {
	t.Helper()
	_, node := newRedis(t, testenv.RedisConfig{Args: []string{"--cluster-enabled", "yes"}})
	if err := node.ClusterAddSlotsRange(t.Context(), 0, 16383).Err(); err != nil {
		t.Fatal(err)
	}
	for !strings.Contains(node.ClusterInfo(t.Context()).Val(), "cluster_state:ok") {
		if t.Context().Err() != nil {
			t.Fatal("the cluster does not come up")
		}
	}
	client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{node.Options().Addr}})
	t.Cleanup(func() { _ = client.Close() })
	return redisfence.Redis{Client: client}, client
}

func TestRedis_MarkKey_sharesTheSlot(t *testing.T) {
	r, client := newCluster(t)
	ctx := t.Context()
	for _, c := range []struct{ resource, key string }{
		{"cart:42", "cart:42"},
		{"cart:42", "{cart:42}:items"},
		{"{user42}", "cart:{user42}"},
		{"{user42}", "user42"},
		{"cart:{user42}", "{user42}:address"},
		{"a{b}{c}", "{b}"},
		{"50%", "{50%25}"},
	} {
		mark := r.MarkKey(c.resource)
		if got, want := client.ClusterKeySlot(ctx, mark).Val(), client.ClusterKeySlot(ctx, c.key).Val(); got != want {
			t.Errorf("mark %s of %q has slot %d, key %s has %d", mark, c.resource, got, c.key, want)
		}
		if err := r.Do(ctx, c.resource, 7, "SET", c.key, "x").Err(); err != nil {
			t.Errorf("resource %q, key %q: %v", c.resource, c.key, err)
		}
	}
}

func TestRedis_Do_explainsSlots(t *testing.T) {
	r, client := newCluster(t)
	err := r.Do(t.Context(), "a", 7, "SET", "b", "x").Err()
	if err == nil || !strings.Contains(err.Error(), "fence:{a} b must share a slot") || !strings.Contains(err.Error(), "hash tag") {
		t.Errorf("error = %v", err)
	}
	if n := client.Exists(t.Context(), "b").Val(); n != 0 {
		t.Error("it was written all the same")
	}
}

func TestRedis_MarkKey_isOneToOne(t *testing.T) {
	seen := map[string]string{}
	for _, namespace := range []string{"", "a", "fence:{a}", "fence:tag"} {
		for _, resource := range []string{"a", "{a}", "{{a}", "{a}}", "{}a", "a}", "%7Ba}", "%257Ba", "tag:a", "tag:{a}", "tag:tag:{a}", "}{"} {
			key := redisfence.Redis{Namespace: namespace}.MarkKey(resource)
			if other, ok := seen[key]; ok {
				t.Errorf("namespace %q, resource %q and %s share the mark %s", namespace, resource, other, key)
			}
			seen[key] = namespace + " " + resource
		}
	}
}
