package suppress

import "testing"

func TestParseIgnore(t *testing.T) {
	for _, tt := range []struct {
		text   string
		covers string // an ID it silences, "" for none
	}{
		{"//locklint:ignore LL2002 reason", "LL2002"},
		{"//locklint:ignore ll2002,LL2005 two reasons", "LL2005"},
		{"//locklint:ignore LL2002", ""},
		{"//locklint:ignore LL2002   ", ""},
		{"//locklint:ignore", ""},
		{"//locklint:ignored LL2002 reason", ""},
		{"// locklint:ignore LL2002 reason", ""},
		{"//nolint:locklint", "LL2002"},
		{"//nolint:errcheck, locklint // why", "LL2002"},
		{"// nolint: locklint", "LL2002"},
		{"//nolint:all", "LL2002"},
		{"//nolint:errcheck", ""},
		{"//nolint:errcheck // not locklint", ""},
		{"//nolint", ""},
	} {
		ig := parseIgnore(tt.text)
		if covered := ig != nil && ig.covers(tt.covers); covered != (tt.covers != "") {
			t.Errorf("%s: covers %q: %t", tt.text, tt.covers, covered)
		}
		if tt.covers == "" && ig != nil && ig.covers("LL2002") {
			t.Errorf("%s silences LL2002", tt.text)
		}
	}
}
