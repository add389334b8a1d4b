package percent_test

import (
	"strings"
	"testing"

	"github.com/lockgen/lockgen/internal/percent"
)

func FuzzEscape(f *testing.F) {
	f.Add("a/b", "a")
	f.Add("%2F", "%")
	f.Add("\xff\x00日本", "\xff")
	f.Add(".", "..")
	f.Fuzz(func(t *testing.T, s, prefix string) {
		for _, p := range []percent.Plain{"", "-_:@=,;+", "-_.:@=,;+"} {
			text := p.Escape(s)
			if back, err := percent.Unescape(text); err != nil || back != s {
				t.Errorf("%q is escaped as %q and comes back as %q, %v", s, text, back, err)
			}
			if strings.Trim(text, "%"+string(p)+"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789") != "" {
				t.Errorf("%q is escaped as %q, which holds more than plain bytes", s, text)
			}
			if strings.HasPrefix(text, p.Escape(prefix)) != strings.HasPrefix(s, prefix) {
				t.Errorf("%q and its prefix %q are escaped as %q and %q", s, prefix, text, p.Escape(prefix))
			}
		}
	})
}

func TestUnescape_foreignText(t *testing.T) {
	for _, text := range []string{"%", "a%2", "%zz"} {
		if s, err := percent.Unescape(text); err == nil {
			t.Errorf("%q is %q", text, s)
		}
	}
}
