package redistag_test

import (
	"strings"
	"testing"

	"github.com/lockgen/lockgen/internal/redistag"
)

func FuzzEncode(f *testing.F) {
	for _, name := range []string{"", "order:42", "{}", "%7B", "{", "%", "%2{5", "\xff}"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		text := redistag.Encode(name)
		if strings.ContainsAny(text, "{}") {
			t.Errorf("the encoding of %q has braces: %q", name, text)
		}
		if back := redistag.Decode(text); back != name {
			t.Errorf("%q came back as %q", name, back)
		}
	})
}
