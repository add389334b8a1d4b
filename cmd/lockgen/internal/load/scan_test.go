package load

import "testing"

func TestMentions(t *testing.T) {
	for text, want := range map[string]bool{
		"//lock:key=a,ttl=1s":         true,
		"\t//lock:key=a":              true,
		"// lock:key=a":               true,
		"//Lock:key=a":                true,
		"//LOCK: key=a":               true,
		"//lock key=a":                true,
		"//lock.key=a":                true,
		"//locks:key=a":               true,
		"// lockgen: key=a":           true,
		"/*lock:key=a*/":              true,
		"/*\nlock:key=a\n*/":          true,
		"///lock:key=a":               true,
		"// //lock:key=a":             true,
		"/* //lock:key=a */":          true,
		"//   lock:key=a":             true,
		"// @lock:key=a":              true,
		"//+ lock:key=a":              true,
		"// blocks: all":              false,
		"// locked":                   false,
		"// see lock: of the article": false,
		"type lock struct{}":          false,
		"":                            false,
		"ock":                         false,
	} {
		if got := mentions([]byte(text)); got != want {
			t.Errorf("mentions(%q) = %t", text, got)
		}
	}
}
