package redisstore

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// oddNames are lock names that would break keys which are put together carelessly.
var oddNames = []string{
	"k", "{", "}", "{}", "{}x", "x{}", "a{b}c", "}{", "{{x}}", "%", "%7B", "%7D", "%25", "a:queue", "a}:queue", "a}:floor",
	"a", "a b", "a\nb", "*", "?", "[a-z]", `\`, `\*`, "ключ", "\xff\xfe", "#", "@x", "lock:{k}", strings.Repeat("x", 4096), ":", " ", "-",
}

var oddNamespaces = []string{"lock", "", "{", "}", "{}", "a:{b}", "%7B", "*", "a b"}

func TestKeySpace_keysNeverMeet(t *testing.T) {
	seen := map[string]string{}
	for _, namespace := range oddNamespaces {
		space := newKeySpace(namespace)
		for _, name := range oddNames {
			who := fmt.Sprintf("%q in %q", name, namespace)
			for _, key := range space.keys(name).all() {
				if other, ok := seen[key]; ok {
					t.Errorf("%s and %s share the key %q", who, other, key)
				}
				seen[key] = who
			}
			if back, ok := space.name(space.lock(name)); !ok || back != name {
				t.Errorf("%s is read back as %q, %v", who, back, ok)
			}
		}
	}
}

func FuzzKeySpace_oneTagPerLock(f *testing.F) {
	for _, name := range oddNames {
		f.Add("lock", name)
	}
	f.Fuzz(func(t *testing.T, namespace, name string) {
		if name == "" {
			return
		}
		space := newKeySpace(namespace)
		keys := space.keys(name)
		tag := hashTag(keys.lock)
		if tag == "" || tag == keys.lock {
			t.Fatalf("the key %q has no hash tag", keys.lock)
		}
		for _, key := range keys.all() {
			if hashTag(key) != tag {
				t.Errorf("the key %q is hashed by %q, the lock by %q", key, hashTag(key), tag)
			}
		}
		if back, ok := space.name(keys.lock); !ok || back != name {
			t.Errorf("%q is read back as %q, %v", name, back, ok)
		}
		for _, key := range keys.all()[1:] {
			if other, ok := space.name(key); ok {
				t.Errorf("%q is taken for the lock %q", key, other)
			}
		}
	})
}

// hashTag is what Redis Cluster hashes of a key: what is between the first { and the next }, if that is not empty.
func hashTag(key string) string {
	open := strings.IndexByte(key, '{')
	if open < 0 {
		return key
	}
	end := strings.IndexByte(key[open+1:], '}')
	if end <= 0 {
		return key
	}
	return key[open+1 : open+1+end]
}

// The whole protocol, on each odd name, with an odd node name too.
func TestScripts_oddNames(t *testing.T) {
	r := newRig(t)
	in := r.listen("q")
	for _, name := range oddNames {
		r.keys = newKeySpace("odd {ns} *").keys(name)
		a := r.acquire("a", "p", 0)
		r.acquire("b", "q", rigLiveness)
		r.want("renewal", r.renew("a", rigTTL), 1)
		r.want("release", r.release("a", 0), 1)
		if epoch := r.wantOwner("b"); epoch <= a.epoch {
			t.Errorf("%q: epoch %d after %d", name, epoch, a.epoch)
		}
		r.want("release", r.release("b", 0), 1)
	}
	if sent := in.drain(); len(sent) != len(oddNames) {
		t.Errorf("%d grants were sent, want %d", len(sent), len(oddNames))
	}
	// Nothing was written outside of the namespace.
	for _, key := range r.client.Keys(r.ctx, "*").Val() {
		if !strings.HasPrefix(key, "odd %7Bns%7D *:{") {
			t.Errorf("stray key %q", key)
		}
	}
}

func TestScript_process_serverForgetsItsScripts(t *testing.T) {
	r := newRig(t)
	r.acquire("a", "p", 0)
	if err := r.client.ScriptFlush(r.ctx).Err(); err != nil {
		t.Fatal(err)
	}
	r.want("renewal", r.renew("a", rigTTL), 1)
	if err := r.client.ScriptFlush(r.ctx).Err(); err != nil {
		t.Fatal(err)
	}
	calls := []call{{Keys: r.keys.alone(), Args: []any{"a", rigRetention}}, {Keys: r.keys.alone(), Args: []any{"b", rigRetention}}}
	for i, cmd := range cancelScript.RunAll(r.ctx, r.client, calls) {
		if n, err := ints(cmd, 2); err != nil || n[0] != int64(1-i) {
			t.Errorf("pipelined cancel %d: %d, %v", i, n, err)
		}
	}
}

func TestInts_wrongNumberOfValues(t *testing.T) {
	cmd := redis.NewCmd(t.Context())
	cmd.SetVal([]any{int64(1), int64(0)})
	if _, err := ints(cmd, 3); err == nil || !strings.Contains(err.Error(), "2 values instead of 3") {
		t.Errorf("the error is %v", err)
	}
}

func TestParseAnswer_garbage(t *testing.T) {
	for _, reply := range []any{nil, "OK", []any{}, []any{int64(1), int64(2)}, []any{int64(2), int64(1), int64(1), "n"}, []any{"1", "2", "3", "4"}} {
		if _, err := parseAnswer(reply, time.Now()); err == nil || !strings.Contains(err.Error(), "another program") {
			t.Errorf("%v: the error is %v", reply, err)
		}
	}
}
