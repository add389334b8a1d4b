package etcdstore

import (
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A class leaves a quarter for the time between two signs of life, and is not longer than twice the TTL or 2 s.
func TestClassFor(t *testing.T) {
	for ttl := 10 * time.Millisecond; ttl < 1000*time.Hour; ttl += ttl/7 + time.Millisecond {
		c := classFor(ttl)
		if c-c/4 < ttl || c > max(2*ttl, 2*time.Second)+time.Second || c%time.Second != 0 {
			t.Errorf("the class for %s has %s", ttl, c)
		}
	}
}

// Two places of locks share nothing, whatever their prefixes and namespaces are: none lies within the other.
func FuzzNewSpace(f *testing.F) {
	f.Add("lockgen", "a", "lockgen/a", "l")
	f.Add("lockgen", "a", "lockgen/a/l", "s")
	f.Add("lockgen", "", "lockgen/", "a")
	f.Add("lockgen", "a/l", "lockgen/a", "l")
	f.Add("lockgen", "a", "lockgen/~a", "l")
	f.Add("a", "~", "a/~", "b")
	f.Add("a", "b", "a/%7Eb", "l")
	f.Fuzz(func(t *testing.T, prefix, namespace, otherPrefix, otherNamespace string) {
		one, err := Config{Prefix: prefix}.withDefaults()
		other, otherErr := Config{Prefix: otherPrefix}.withDefaults()
		if err != nil || otherErr != nil || one.Prefix == other.Prefix && namespace == otherNamespace {
			return
		}
		a, b := newSpace(one.Prefix, namespace).root, newSpace(other.Prefix, otherNamespace).root
		if strings.HasPrefix(b, a) || strings.HasPrefix(a, b) {
			t.Errorf("%q with %q has %q, and %q with %q has %q", one.Prefix, namespace, a, other.Prefix, otherNamespace, b)
		}
	})
}
