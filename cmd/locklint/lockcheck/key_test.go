package lockcheck

import "testing"

func lit(s string) keyExpr   { return keyExpr{Op: keyLit, Text: s} }
func param(i string) keyExpr { return keyExpr{Op: keyParam, Text: i} }
func local(s string) keyExpr { return keyExpr{Op: keyLocal, Text: s} }
func concat(k ...keyExpr) keyExpr {
	return keyExpr{Op: keyConcat, Args: k}
}

func TestKeyExpr_shape(t *testing.T) {
	a, b := concat(lit("order:"), param("1")), concat(lit("order:"), local("f.t3"))
	if a.String() == b.String() {
		t.Errorf("a parameter and a local are the same key: %s", a)
	}
	if a.shape() != b.shape() {
		t.Errorf("shapes differ: %s and %s", a.shape(), b.shape())
	}
	if c := concat(lit("user:"), param("1")); c.shape() == a.shape() {
		t.Errorf("different literals have the same shape %s", c.shape())
	}
	// Text cannot pass for structure.
	if x, y := lit(`a"("b"`), concat(lit("a"), lit("b")); x.String() == y.String() {
		t.Errorf("%s is ambiguous", x)
	}
}

func TestKeyExpr_bind(t *testing.T) {
	k := concat(lit("order:"), param("1"))
	if got, want := k.bind([]keyExpr{lit("x"), lit("7")}).String(), lit("order:7").String(); got != want {
		t.Errorf("bound to %s, want %s", got, want)
	}
	if got := k.bind([]keyExpr{lit("x")}); got.known() {
		t.Errorf("a missing argument gives %s, want an unknown key", got)
	}
}

func TestKeyExpr_distinctive(t *testing.T) {
	for _, tt := range []struct {
		key      keyExpr
		want     bool
		portable bool
	}{
		{param("0"), false, true},
		{lit("lock"), true, true},
		{lit(":"), false, true},
		{concat(lit(":"), param("0")), false, true},
		{concat(lit("lock:"), local("f.t0")), true, false},
		{keyExpr{Op: keyCall, Text: "fmt.Sprintf", Args: []keyExpr{lit("%d"), param("0")}}, false, true},
		{keyExpr{Op: keyCall, Text: "shop.lockKey", Args: []keyExpr{param("0")}}, true, true},
		{keyExpr{Op: keyField, Text: "shop.Mutex.key", Args: []keyExpr{param("0")}}, true, true},
		{keyExpr{}, false, false},
	} {
		if got := tt.key.distinctive(); got != tt.want {
			t.Errorf("%s: distinctive is %t", tt.key, got)
		}
		if got := tt.key.portable(); got != tt.portable {
			t.Errorf("%s: portable is %t", tt.key, got)
		}
	}
}

func TestLockWord(t *testing.T) {
	for text, want := range map[string]bool{
		"lock:order": true, "orderLock": true, "LOCK_KEY": true, "shop.Mutex.key": true, "distlock.key": true,
		"order_mtx": true,
		"block:7":   false, "clock": false, "unblock": false, "stock": false, "order": false,
		"account:locked": false, "login:lockout": false,
	} {
		if got := speaksOfLock(lit(text)); got != want {
			t.Errorf("%q speaks of a lock: %t, want %t", text, got, want)
		}
	}
}

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
