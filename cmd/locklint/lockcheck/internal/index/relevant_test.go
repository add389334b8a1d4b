package index

import (
	"fmt"
	"testing"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/clients"
)

// TestRelevant_clients: a package that imports a client is looked at, whichever it is.
func TestRelevant_clients(t *testing.T) {
	for _, path := range clients.Paths() {
		text := fmt.Sprintf("package p\n\nimport x %q\n\nvar _ = x.New\n", path)
		if !Relevant(nil, map[string][]byte{"p.go": []byte(text)}) {
			t.Errorf("%s is not looked at", path)
		}
	}
}

// TestRelevant_others: a package that has nothing to do with locks is not, or reading it all would cost too much.
func TestRelevant_others(t *testing.T) {
	for text, want := range map[string]bool{
		"package p\n\nimport \"runtime\"\n\nvar mu sync.Mutex // a lock\n": false,
		"package p\n\nfunc f(x interface{ SetNX(string) bool })\n":         true,
		"package p\n\n//lock:key=a\nfunc f()\n":                            true,
		"package p\n\n// lock: key=a\nfunc f()\n":                          true,
		"package p\n\n//locklint:ignore LL2002 why\nfunc f()\n":            true,
		"package p\n\nimport \"github.com/lockgen/lockgen/jobs\"\n":        true,
		"package p\n\n// unlock:it\n":                                      false,
		"package p\n\nconst q = `SELECT n FROM t FOR UPDATE`\n":            true,
		"package p\n\nconst q = \"select n from t for update\"\n":          true,
		"package p\n\n// for update\n":                                     false,
		"package p\n\nconst q = \"SELECT pg_advisory_lock(1)\"\n":          true,
	} {
		if got := Relevant(nil, map[string][]byte{"p.go": []byte(text)}); got != want {
			t.Errorf("%q: relevant is %t", text, got)
		}
	}
}
