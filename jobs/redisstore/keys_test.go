package redisstore

import (
	"fmt"
	"strings"
	"testing"
)

// TestStore_slots checks what Redis Cluster hashes: all keys of a shard have the same tag, not an empty one, and
// no two jobs, shards or namespaces share a key.
func TestStore_slots(t *testing.T) {
	t.Parallel()
	seen := make(map[string]string)
	for _, namespace := range []string{"", "lock", "{", "{x}", "}", "a:jobs", "lock:1"} {
		s := New(nil, namespace)
		for n, at := range s.shards {
			keys := at.all()
			for _, job := range []string{"", "a", "{", "}", "{}", "}{", "{a}", "a}", "%", "%7B", "a:runs", ":",
				"a}:runs"} {
				keys = append(keys, at.runs(job))
			}
			for _, key := range keys {
				if tag := hashTag(key); tag == "" || tag != hashTag(keys[0]) {
					t.Errorf("key %q of shard %d in namespace %q has tag %q", key, n, namespace, tag)
				}
				if other, taken := seen[key]; taken {
					t.Errorf("shard %d in namespace %q shares key %q with %s", n, namespace, key, other)
				}
				seen[key] = fmt.Sprintf("shard %d in namespace %q", n, namespace)
			}
		}
	}
}

// hashTag is the rule of Redis Cluster: what stands between the first { and the next }, if anything does.
func hashTag(key string) string {
	_, rest, _ := strings.Cut(key, "{")
	tag, _, _ := strings.Cut(rest, "}")
	return tag
}
