package keyexpr

import "testing"

func lit(s string) Expr   { return Expr{Op: Lit, Text: s} }
func param(i string) Expr { return Expr{Op: Param, Text: i} }
func local(s string) Expr { return Expr{Op: Local, Text: s} }
func concat(k ...Expr) Expr {
	return Expr{Op: Concat, Args: k}
}

func TestExpr_shape(t *testing.T) {
	a, b := concat(lit("order:"), param("1")), concat(lit("order:"), local("f.t3"))
	if a.String() == b.String() {
		t.Errorf("a parameter and a local are the same key: %s", a)
	}
	if a.Shape() != b.Shape() {
		t.Errorf("shapes differ: %s and %s", a.Shape(), b.Shape())
	}
	if c := concat(lit("user:"), param("1")); c.Shape() == a.Shape() {
		t.Errorf("different literals have the same shape %s", c.Shape())
	}
	// Text cannot pass for structure.
	if x, y := lit(`a"("b"`), concat(lit("a"), lit("b")); x.String() == y.String() {
		t.Errorf("%s is ambiguous", x)
	}
}

func TestExpr_bind(t *testing.T) {
	k := concat(lit("order:"), param("1"))
	if got, want := k.Bind([]Expr{lit("x"), lit("7")}).String(), lit("order:7").String(); got != want {
		t.Errorf("bound to %s, want %s", got, want)
	}
	if got := k.Bind([]Expr{lit("x")}); got.Known() {
		t.Errorf("a missing argument gives %s, want an unknown key", got)
	}
}

func TestExpr_distinctive(t *testing.T) {
	for _, tt := range []struct {
		key      Expr
		want     bool
		portable bool
	}{
		{param("0"), false, true},
		{lit("lock"), true, true},
		{lit(":"), false, true},
		{concat(lit(":"), param("0")), false, true},
		{concat(lit("lock:"), local("f.t0")), true, false},
		{Expr{Op: Call, Text: "fmt.Sprintf", Args: []Expr{lit("%d"), param("0")}}, false, true},
		{Expr{Op: Call, Text: "shop.lockKey", Args: []Expr{param("0")}}, true, true},
		{Expr{Op: Field, Text: "shop.Mutex.key", Args: []Expr{param("0")}}, true, true},
		{Expr{}, false, false},
	} {
		if got := tt.key.Distinctive(); got != tt.want {
			t.Errorf("%s: distinctive is %t", tt.key, got)
		}
		if got := tt.key.Portable(); got != tt.portable {
			t.Errorf("%s: portable is %t", tt.key, got)
		}
	}
}

func TestExpr_fresh(t *testing.T) {
	call := func(name string, args ...Expr) Expr { return Expr{Op: Call, Text: name, Args: args} }
	for _, tt := range []struct {
		key  Expr
		want bool
	}{
		{concat(lit("tmp:"), call("github.com/google/uuid.NewString")), true},
		{concat(lit("tmp:"), call("(github.com/google/uuid.UUID).String", call("github.com/google/uuid.NewV7#0"))), true},
		{call("fmt.Sprintf", lit("%v"), call("github.com/google/uuid.Must", call("github.com/google/uuid.NewRandom#0"))), true},
		{concat(lit("tmp:"), call("(github.com/rs/xid.ID).String", call("github.com/rs/xid.New"))), true},
		{call("crypto/rand.Text"), true},
		{concat(lit("tmp:"), call("github.com/google/uuid.NewSHA1", param("0"), param("1"))), false}, // of a name
		{concat(lit("lock:"), call("shop.keyOf", call("crypto/rand.Text"))), false},
		{concat(lit("lock:"), param("0")), false},
		{Expr{Op: Field, Text: "shop.Lock.key", Args: []Expr{call("crypto/rand.Text")}}, false},
	} {
		if got := tt.key.Fresh(); got != tt.want {
			t.Errorf("%s: fresh is %t", tt.key, got)
		}
	}
}
