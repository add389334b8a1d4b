package lockrt_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net/netip"
	"strings"
	"testing"
	"time"

	lockrt "github.com/lockgen/lockgen/runtime"
)

type userID int64
type sku string

// text is a TextMarshaler by value: calling it through a nil pointer would panic.
type text struct {
	s   string
	err error
}

func (t text) MarshalText() ([]byte, error) { return []byte(t.s), t.err }
func (t text) String() string               { return "<" + t.s + ">" }

func TestBuildKey(t *testing.T) {
	id, name, empty := userID(7), sku("A/b"), ""
	var noName *sku
	for _, tt := range []struct {
		want  string
		parts []lockrt.KeyPart
	}{
		{"order:7", []lockrt.KeyPart{lockrt.KeyText("order:"), lockrt.KeyInt("userID", id)}},
		{"a:A%2Fb", []lockrt.KeyPart{lockrt.KeyText("a:"), lockrt.KeyString("name", name)}},
		{"a:A%2Fb", []lockrt.KeyPart{lockrt.KeyText("a:"), lockrt.KeyPtr("name", &name, lockrt.KeyString)}},
		{"a:7", []lockrt.KeyPart{lockrt.KeyText("a:"), lockrt.KeyPtr("id", &id, lockrt.KeyInt)}},
		{"%7Btag%7D%3A%25%00%C3%A9", []lockrt.KeyPart{lockrt.KeyString("x", "{tag}:%\x00é")}},
		{"Az09._~-", []lockrt.KeyPart{lockrt.KeyString("x", "Az09._~-")}},
		{"-9223372036854775808", []lockrt.KeyPart{lockrt.KeyInt("x", int64(math.MinInt64))}},
		{"18446744073709551615", []lockrt.KeyPart{lockrt.KeyUint("x", uint64(math.MaxUint64))}},
		{"true/false", []lockrt.KeyPart{lockrt.KeyBool("a", true), lockrt.KeyText("/"), lockrt.KeyBool("b", false)}},
		{"%sA%2Fb/7/9/true", []lockrt.KeyPart{lockrt.KeyBasic("a", name), lockrt.KeyText("/"), lockrt.KeyBasic("b", id), lockrt.KeyText("/"),
			lockrt.KeyBasic("c", uint8(9)), lockrt.KeyText("/"), lockrt.KeyBasic("d", true)}},
		{"-1", []lockrt.KeyPart{lockrt.KeyTime("t", time.Unix(-1, 999))}},
		{"ip:%3A%3A1", []lockrt.KeyPart{lockrt.KeyText("ip:"), lockrt.KeyMarshaler("ip", netip.MustParseAddr("::1"))}},
		{"v", []lockrt.KeyPart{lockrt.KeyMarshaler("v", &text{s: "v"})}},
		{"%3Cv%3E", []lockrt.KeyPart{lockrt.KeyStringer("v", text{s: "v"})}},
		{"mail:ann%40example", []lockrt.KeyPart{lockrt.KeyText("mail:"), lockrt.KeyString("m", "Ann@EXAMPLE").Lower()}},
		{"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad", []lockrt.KeyPart{lockrt.KeyString("x", "abc").Hash()}},
		{"6b86b273ff34fce19d6b804eff5a3f5747ada4eaa22f1d49c01e52ddb7875b4b", []lockrt.KeyPart{lockrt.KeyInt("x", 1).Hash()}},
		{"a:", []lockrt.KeyPart{lockrt.KeyText("a:"), lockrt.KeyString("x", "").Optional()}},
		{"a:", []lockrt.KeyPart{lockrt.KeyText("a:"), lockrt.KeyPtr("x", noName, lockrt.KeyString).Optional()}},
		{"a:%", []lockrt.KeyPart{lockrt.KeyText("a:"), lockrt.KeyPtr("x", &empty, lockrt.KeyString).Optional()}},
		{"a:", []lockrt.KeyPart{lockrt.KeyText("a:"), lockrt.KeyString("x", "").Hash().Optional()}},
		{"a:", []lockrt.KeyPart{lockrt.KeyText("a:"), lockrt.KeyNil("x.y").Optional()}},
		{"{slot}a", []lockrt.KeyPart{lockrt.KeyText("{slot}"), lockrt.KeyString("x", "a")}},
		{strings.Repeat("k", 300), []lockrt.KeyPart{lockrt.KeyString("x", strings.Repeat("k", 300))}},
	} {
		got, err := lockrt.BuildKey(tt.parts...)
		if err != nil || got != tt.want {
			t.Errorf("BuildKey = %q, %v, want %q", got, err, tt.want)
		}
	}
}

func TestBuildKey_nilOrEmpty(t *testing.T) {
	var noID *userID
	var noText *text
	empty := ""
	for _, tt := range []struct {
		template string
		name     string
		part     lockrt.KeyPart
	}{
		{"{{s}}:{x}", "{x}", lockrt.KeyString("x", "")},
		{"{{s}}:{x}", "{x}", lockrt.KeyPtr("x", &empty, lockrt.KeyString)},
		{"{{s}}:{x}", "{x}", lockrt.KeyPtr("x", noID, lockrt.KeyInt)},
		{"{{s}}:{x|hash}", "{x|hash}", lockrt.KeyString("x", "").Hash()},
		{"{{s}}:{x|lower}", "{x|lower}", lockrt.KeyPtr("x", (*string)(nil), lockrt.KeyString).Lower()},
		{"{{s}}:{x}", "{x}", lockrt.KeyMarshaler("x", noText)},
		{"{{s}}:{x}", "{x}", lockrt.KeyMarshaler[interface{ MarshalText() ([]byte, error) }]("x", nil)},
		{"{{s}}:{x|text}", "{x?|text}", lockrt.KeyMarshaler("x", noText).Text()},
		{"{{s}}:{x|string}", "{x?|string}", lockrt.KeyStringer("x", noText)},
		{"{{s}}:{x}", "{x}", lockrt.KeyMarshaler("x", text{})},
		{"{{s}}:{o.c.id}", "{o.c.id?}", lockrt.KeyNil("o.c.id")},
		{"{{s}}:{x}", "{x}", lockrt.KeyMarshaler("x", text{s: "v", err: errors.New("torn")})},
	} {
		key, err := lockrt.BuildKey(lockrt.KeyText("{s}:"), tt.part)
		if key != "" || !errors.Is(err, lockrt.ErrKey) {
			t.Errorf("%s: BuildKey = %q, %v, want ErrKey", tt.template, key, err)
			continue
		}
		for _, want := range []string{fmt.Sprintf("%q", tt.template), tt.name} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("error %q does not name %s", err, want)
			}
		}
	}
	if _, err := lockrt.BuildKey(lockrt.KeyString("x", "").Optional()); !errors.Is(err, lockrt.ErrKey) {
		t.Errorf("a key without any text: %v, want ErrKey", err)
	}
}

func TestBuildKey_marshalErrorIsReturned(t *testing.T) {
	torn := errors.New("torn")
	_, err := lockrt.BuildKey(lockrt.KeyMarshaler("x", text{err: torn}))
	if !errors.Is(err, torn) {
		t.Errorf("error %v does not wrap the error of MarshalText", err)
	}
}

// TestBuildKey_equalKeysOnlyForEqualValues draws values from pieces that are dangerous to a careless encoding, so that
// collisions would be frequent if they were possible.
func TestBuildKey_equalKeysOnlyForEqualValues(t *testing.T) {
	pieces := []string{"", ":", "%", "%3A", "3A", "A", "a", "{", "}", "-", "\xff", "\xfe", "\ufffd", "é", "null", "\x00", "%25"}
	random := rand.New(rand.NewPCG(1, 2))
	pick := func() string { return pieces[random.IntN(len(pieces))] + pieces[random.IntN(len(pieces))] }
	seen := map[string]string{}
	for range 200_000 {
		a, b, n := pick(), pick(), random.IntN(5)-2
		var c *string
		if random.IntN(3) > 0 {
			s := pick()
			c = &s
		}
		values := fmt.Sprintf("%q %q %d nil=%t", a, b, n, c == nil)
		if c != nil {
			values += fmt.Sprintf(" %q", *c)
		}
		key, err := lockrt.BuildKey(
			lockrt.KeyText("k:"), lockrt.KeyString("a", a).Optional(),
			lockrt.KeyText(":"), lockrt.KeyInt("n", n),
			lockrt.KeyText("/"), lockrt.KeyString("b", b).Optional(),
			lockrt.KeyText("{"), lockrt.KeyPtr("c", c, lockrt.KeyString).Optional(),
		)
		if err != nil {
			t.Fatal(err)
		}
		if other, ok := seen[key]; ok && other != values {
			t.Fatalf("%s and %s share the key %q", other, values, key)
		}
		seen[key] = values
	}
}

// TestKeyBasic_equalKeysOnlyForEqualValues: what a type parameter stands for may be any of these at once.
func TestKeyBasic_equalKeysOnlyForEqualValues(t *testing.T) {
	type named string
	texts := []string{"1", "-1", "0", "true", "false", "s1", "%s1", "%", "s", "1s", "%31"}
	one := "1"
	values := map[string][]lockrt.KeyPart{ // by what is locked
		"number 1":  {lockrt.KeyBasic("k", 1), lockrt.KeyBasic("k", uint8(1)), lockrt.KeyBasic("k", userID(1))},
		"number -1": {lockrt.KeyBasic("k", int8(-1))},
		"number 0":  {lockrt.KeyBasic("k", 0), lockrt.KeyBasic("k", uintptr(0))},
		"true":      {lockrt.KeyBasic("k", true)},
		"false":     {lockrt.KeyBasic("k", false)},
		"string 1":  {lockrt.KeyPtr("k", &one, lockrt.KeyBasic)},
		"nothing":   {lockrt.KeyBasic("k", ""), lockrt.KeyPtr("k", (*string)(nil), lockrt.KeyBasic)},
	}
	for _, text := range texts {
		values["string "+text] = append(values["string "+text], lockrt.KeyBasic("k", text), lockrt.KeyBasic("k", named(text)))
	}
	for name, change := range map[string]func(lockrt.KeyPart) lockrt.KeyPart{"as it is": lockrt.KeyPart.Optional, "hash": func(p lockrt.KeyPart) lockrt.KeyPart { return p.Hash().Optional() }} {
		seen := map[string]string{}
		for value, parts := range values {
			for _, part := range parts {
				key, err := lockrt.BuildKey(lockrt.KeyText("k:"), change(part), lockrt.KeyText(":"))
				if err != nil {
					t.Fatal(err)
				}
				if other, ok := seen[key]; ok && other != value {
					t.Errorf("%s: %s and %s share the key %q", name, other, value, key)
				}
				seen[key] = value
			}
		}
		if len(seen) != len(values) {
			t.Errorf("%s: %d keys for %d values", name, len(seen), len(values))
		}
	}
}

// TestKeyPart_Lower_foldsOnlyCase: bytes that are not UTF-8 must not all become the replacement character.
func TestKeyPart_Lower_foldsOnlyCase(t *testing.T) {
	for in, want := range map[string]string{"ÀB": "%C3%A0b", "B\xff": "b%FF", "B\xfe": "b%FE", "À\xfe": "%C3%A0%FE"} {
		got, err := lockrt.BuildKey(lockrt.KeyString("x", in).Lower())
		if err != nil || got != want {
			t.Errorf("lower of %q = %q, %v, want %q", in, got, err, want)
		}
	}
}

func FuzzBuildKey(f *testing.F) {
	f.Add("a", "b", "a:b", "")
	f.Add("%3A", "", ":", "")
	f.Fuzz(func(t *testing.T, a, b, c, d string) {
		build := func(x, y string) string {
			key, err := lockrt.BuildKey(lockrt.KeyString("x", x).Optional(), lockrt.KeyText(":"), lockrt.KeyString("y", y).Optional())
			if err != nil {
				t.Fatal(err)
			}
			return key
		}
		if equal := a == c && b == d; (build(a, b) == build(c, d)) != equal {
			t.Errorf("(%q, %q) and (%q, %q): keys %q and %q", a, b, c, d, build(a, b), build(c, d))
		}
	})
}

func BenchmarkBuildKey(b *testing.B) {
	for b.Loop() {
		if _, err := lockrt.BuildKey(lockrt.KeyText("order:"), lockrt.KeyInt("userID", userID(42)), lockrt.KeyText("/"), lockrt.KeyString("sku", sku("shoe"))); err != nil {
			b.Fatal(err)
		}
	}
}
