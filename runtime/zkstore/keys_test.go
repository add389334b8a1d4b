package zkstore

import (
	"strings"
	"testing"
)

func TestIsPath(t *testing.T) {
	for path, ok := range map[string]bool{
		"lockgen": true, "a/b.c/日本": true, "a//b": false, "": false, "a/./b": false, "..": false, "a/b\x00": false,
		"a\x1f": false, "\xff": false, "a/": false, "\uf000": false,
	} {
		if isPath(path) != ok {
			t.Errorf("isPath(%q) is %t", path, !ok)
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
		a, b := newSpace(one.Prefix, namespace).root+"/", newSpace(other.Prefix, otherNamespace).root+"/"
		if strings.HasPrefix(b, a) || strings.HasPrefix(a, b) {
			t.Errorf("%q with %q has %q, and %q with %q has %q", one.Prefix, namespace, a, other.Prefix, otherNamespace, b)
		}
	})
}
