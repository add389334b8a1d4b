package directive

import (
	"fmt"
	"testing"
)

// describe is a value in one line: where it starts, the fields (with a * where a pointer may be nil), the kind.
func describe(v *Value) string {
	if v == nil {
		return "nil"
	}
	kinds := []string{"invalid", "string", "int", "uint", "bool", "basic", "text", "stringer", "time", "len"}
	s := "recv"
	if v.From == FromParam {
		s = fmt.Sprintf("%d", v.Param)
	}
	for _, step := range v.Steps {
		if step.Pointer {
			s += "*"
		}
		s += "." + step.Name
	}
	s += " " + kinds[v.Kind]
	if v.Deref {
		s += " deref"
	}
	if v.Addr {
		s += " addr"
	}
	return s
}

var valueTests = []struct {
	sig, hole, want string
	syntax          bool // the same without type information
}{
	{"f(a string)", "{a}", "0 string", true},
	{"f(a, b string)", "{b}", "1 string", true},
	{"f(a *string)", "{a}", "0 string deref", true},
	{"f(a int)", "{a}", "0 int", true},
	{"f(a *int8)", "{a}", "0 int deref", true},
	{"f(a rune)", "{a}", "0 int", true},
	{"f(a byte)", "{a}", "0 uint", true},
	{"f(a uintptr)", "{a}", "0 uint", true},
	{"f(a bool)", "{a}", "0 bool", true},
	{"f(a (string))", "{a}", "0 string", true},
	{"f(a string)", "x:{a?}", "0 string", true},
	{"f(a string)", "{a|lower}", "0 string", true},
	{"f(a string)", "{a|hash}", "0 string", true},
	{"f(a int)", "{a|hash}", "0 int", true},
	{"f(a time.Time)", "{a|unix}", "0 time", true},
	{"f(a *time.Time)", "{a|unix}", "0 time deref", true},
	{"f(a []int)", "{len(a)}", "0 len", true},
	{"f(a *[]int)", "{len(a)}", "0 len deref", true},
	{"f(a map[string]Order)", "{len(a)}", "0 len", true},
	{"f(a string)", "{len(a)}", "0 len", true},
	{"f(a ...Order)", "{len(a)}", "0 len", true},
	{"f(a chan int)", "{len(a)|hash}", "0 len", true},
	{"f(ctx context.Context, a string)", "{a}", "1 string", true},
	{"f(a ID)", "{a}", "0 int", false},
	{"f(a SKU)", "{a}", "0 string", false},
	{"f(a *Flag)", "{a}", "0 bool deref", false},
	{"f(a time.Duration)", "{a}", "0 int", false},
	{"f(a time.Duration)", "{a|string}", "0 stringer", false},
	{"f(a Color)", "{a}", "0 int", false},
	{"f(a Color)", "{a|text}", "0 text", false},
	{"f(a Color)", "{a|string}", "0 stringer", false},
	{"f(a *Color)", "{a|text}", "0 text", false},
	{"f(a uuid.UUID)", "{a}", "0 text", false},
	{"f(a *uuid.UUID)", "{a}", "0 text", false},
	{"f(a uuid.UUID)", "{a|lower}", "0 text", false},
	{"f(a uuid.UUID)", "{a|hash}", "0 text", false},
	{"f(a PtrTxt)", "{a}", "0 text addr", false},
	{"f(a *PtrTxt)", "{a}", "0 text", false},
	{"f(a Texter)", "{a}", "0 text", false},
	{"f(a Stamp)", "{a}", "0 text", false},
	{"f(a Point)", "{a|string}", "0 stringer", false},
	{"f(o Order)", "{o.SKU}", "0.SKU string", false},
	{"f(o *Order)", "{o.SKU}", "0*.SKU string", false},
	{"f(o Order)", "{o.ID}", "0.Customer*.ID int", false},
	{"f(o *Order)", "{o.Name}", "0*.Customer*.Name string deref", false},
	{"f(o Order)", "{o.Next.Next.SKU}", "0.Next*.Next*.SKU string", false},
	{"f(o Order)", "{o.inner.code}", "0.inner.code string", false},
	{"f(o Order)", "{o.At|unix}", "0.At time", false},
	{"f(o Order)", "{len(o.Items)}", "0.Items len", false},
	{"(s *Shop) f()", "{s.name}", "recv*.name string", false},
	{"(s Shop) f()", "{s.name}", "recv.name string", false},
	{"(e Emb) f()", "{e.name}", "recv.Shop*.name string", false},
	{"(c Color) f()", "{c}", "recv int", false},
	{"f[K ~string](k K)", "{k}", "0 string", false},
	{"f[K ~int | ~int64](k K)", "{k}", "0 int", false},
	{"f[K ~int | ~uint](k K)", "{k}", "0 basic", false},
	{"f[K ~string](k *K)", "{k}", "0 string deref", false},
	{"f[K interface{ comparable; ~string | ID }](k K)", "{k}", "0 basic", false},
	{"f[K interface{ ~string | ~int; ~string }](k K)", "{k}", "0 string", false},
	{"f[K Keyish](k K)", "{k}", "0 string", false},
	{"f[K Mixed](k K)", "{k}", "0 basic", false},
	{"f[K Mixed](k K)", "x:{k?|hash}", "0 basic", false},
	{"f[K Texter](k K)", "{k}", "0 text", false},
	{"f[K interface{ String() string }](k K)", "{k|string}", "0 stringer", false},
	{"f[S ~[]E, E any](s S)", "{len(s)}", "0 len", false},
	{"f[string ~int64](a string)", "{a}", "0 int", false},
	{"(g *Gen[string]) f(a int)", "{a}", "0 int", false},
	{"(g *Gen[K]) f(a string)", "{a}", "0 string", false},
}

func TestBind_values(t *testing.T) {
	for _, tt := range valueTests {
		t.Run(tt.sig+" "+tt.hole, func(t *testing.T) {
			src := "//lock:key=" + tt.hole + ",ttl=30s\nfunc " + tt.sig + " {}"
			_, _, f, found := bound(t, src, true)
			for _, p := range found {
				t.Errorf("unexpected problem: %s", p.Message)
			}
			v := f.Keys[0].Parts[len(f.Keys[0].Parts)-1].Value
			if got := describe(v); got != tt.want {
				t.Errorf("reads %s, want %s", got, tt.want)
			}
			if f.NeedsTypes || v != nil && v.Type == nil {
				t.Errorf("types were there, and NeedsTypes is %t", f.NeedsTypes)
			}
			_, _, f, found = bound(t, src, false)
			if len(found) > 0 {
				t.Errorf("without types there is a problem: %s", found[0].Message)
			}
			v = f.Keys[0].Parts[len(f.Keys[0].Parts)-1].Value
			if got := describe(v); tt.syntax && (got != tt.want || f.NeedsTypes || v.Type != nil) {
				t.Errorf("without types it reads %s, want %s; NeedsTypes is %t", got, tt.want, f.NeedsTypes)
			} else if !tt.syntax && !f.NeedsTypes {
				t.Errorf("without types it reads %s and claims that no types are needed", got)
			}
		})
	}
}

var valueErrors = []struct {
	sig, key string
	want     want
	syntax   bool // found without type information too
}{
	{"f(a float64)", "{‹a›}", want{"type", "a has type float64", "NaN"}, true},
	{"f(a complex64)", "{‹a›}", want{"type", "complex64"}, true},
	{"f(a []string)", "{‹a›}", want{"type", "a slice has no text"}, true},
	{"f(a ...string)", "{‹a›}", want{"type", "a slice has no text"}, true},
	{"f(a [4]int)", "{‹a›}", want{"type", "an array"}, true},
	{"f(a map[string]int)", "{‹a›}", want{"type", "a map"}, true},
	{"f(a func())", "{‹a›}", want{"type", "a function"}, true},
	{"f(a chan int)", "{‹a›}", want{"type", "a channel"}, true},
	{"f(a any)", "{‹a›}", want{"type", "an interface may hold anything"}, true},
	{"f(a error)", "{‹a›}", want{"type", "an interface may hold anything"}, true},
	{"f(a **string)", "{‹a›}", want{"type", "only one pointer"}, true},
	{"f(a *float32)", "{‹a›}", want{"type", "*float32"}, true},
	{"f(a struct{ X int })", "{‹a›}", want{"type", "a struct has no text"}, false},
	{"f(a Point)", "{‹a›}", want{"type", "a struct has no text", "|string"}, false},
	{"f(o Order)", "{‹o.Items›}", want{"type", "o.Items has type []int"}, false},
	{"f(a Bytes)", "{‹a›}", want{"type", "a slice"}, false},
	{"f(a time.Time)", "{‹a›}", want{"type", "write |unix"}, true},
	{"f(a *time.Time)", "{‹a›}", want{"type", "write |unix"}, true},
	{"f(a time.Time)", "{‹a›|string}", want{"type", "write |unix"}, true},
	{"f(a time.Time)", "{‹a›|text}", want{"type", "write |unix"}, true},
	{"f(o Order)", "{‹o.At›|hash}", want{"type", "o.At has type time.Time"}, false},
	{"f[K any](a K)", "{‹a›}", want{"type", "not constrained", "[K ~string | ~int64]"}, false},
	{"f[K comparable](a K)", "{‹a›}", want{"type", "not constrained"}, false},
	{"f[K ~string | ~float64](a K)", "{‹a›}", want{"type", "do not all have a text"}, false},
	{"f(a string)", "{a|‹unix›}", want{"filter", "|unix takes a time.Time"}, true},
	{"f(a string)", "{a|‹text›}", want{"filter", "MarshalText() ([]byte, error)"}, true},
	{"f(a int)", "{a|‹string›}", want{"filter", "String() string"}, true},
	{"f(a int)", "{a|‹lower›}", want{"filter", "|lower takes a string"}, true},
	{"f(a bool)", "{a|‹lower›}", want{"filter", "|lower takes a string"}, true},
	{"f(a float64)", "{‹a›|hash}", want{"type", "NaN"}, true},
	{"f(a []int)", "{len(a)|‹lower›}", want{"filter", "a length is a number"}, true},
	{"f(a int)", "{len(‹a›)}", want{"type", "it has no length"}, true},
	{"f(userID string)", "{‹userId›}", want{"parameter",
		"no parameter or receiver userId, it has only userID; did you mean \"userID\"?"}, true},
	{"f(a, b string)", "{‹zebra›}", want{"parameter", "it has a and b"}, true},
	{"f(_ string, _ int)", "{‹a›}", want{"parameter", "it has none with a name"}, true},
	{"(s *Shop) f()", "{‹name›}", want{"parameter", `did you mean "s.name"?`}, false},
	{"f() (id string)", "{‹id›}", want{"parameter", "id is a result"}, true},
	{"f(o Order)", "{o.‹SKu›}", want{"parameter", "o has type Order", `did you mean "SKU"?`}, false},
	{"f(o Order)", "{o.‹Idd›}", want{"parameter", "no field Idd"}, false},
	{"f(o Order)", "{o.‹Nam›}", want{"parameter", `did you mean "Name"?`}, false},
	{"f(b conf.Base)", "{b.‹hidden›}", want{"parameter", "no field hidden that this package can read"}, false},
	{"f(o Order)", "{o.‹Total›}", want{"method", "Total is a method of Order"}, false},
	{"f(ctx context.Context)", "{‹ctx›}", want{"type", "ctx is the context"}, true},
	{"f(fence lockrt.Fence)", "{‹fence›}", want{"too-early", "fence comes from the lock that {fence} is the key of"},
		true},
	{"f(lease *lockrt.Lease)", "{‹lease›.Key}", want{"too-early"}, true},
	{"f(l *lockrt.Locker)", "{‹l›}", want{"type"}, true},

	{"f(a, b string)", "{a}‹-›{b}", want{"collision", `value of {a} may contain '-'`, `"{a}:"`}, true},
	{"f(a, b string)", "{a}‹%3A›{b}", want{"collision"}, true},
	{"f(a string)", "{a}‹x›", want{"collision"}, true},
	{"f(a string)", "{a|lower}‹A›", want{"collision"}, true},
	{"f(a, b int)", "{a}‹-›{b}", want{"collision", `{a} may contain '-'`}, true},
	{"f(a uint)", "{a}‹0x›", want{"collision"}, true},
	{"f(a bool)", "{a}‹s›", want{"collision"}, true},
	{"f(a string)", "{a|hash}‹f›", want{"collision"}, true},
	{"f(a *string)", "x:{a?|hash}‹%›", want{"collision"}, true},
	{"f(a time.Time)", "{a|unix}‹-›", want{"collision"}, true},
	{"f(a []int)", "{len(a)}‹1›", want{"collision"}, true},
	{"f[K ~int | ~uint](a K)", "{a}‹-›", want{"collision"}, false},
	{"f[K ~int | ~string](a K)", "{a}‹x›", want{"collision"}, false},
	{"f(a uuid.UUID)", "{a}‹.›", want{"collision"}, false},
}

func TestBind_valueErrors(t *testing.T) {
	for _, tt := range valueErrors {
		t.Run(tt.sig+" "+tt.key, func(t *testing.T) {
			src := "//lock:key=" + tt.key + ",ttl=30s\nfunc " + tt.sig + " {}"
			marked, spans := unmark(t, src)
			offset := len(prelude) + 1
			for i := range spans {
				spans[i].from += offset
				spans[i].to += offset
			}
			text, fset, f, found := bound(t, marked, true)
			checkProblems(t, text, spans, []want{tt.want}, rebase(fset, found))
			if f.NeedsTypes {
				t.Error("types were there and NeedsTypes is set")
			}
			text, fset, f, found = bound(t, marked, false)
			if tt.syntax {
				checkProblems(t, text, spans, []want{tt.want}, rebase(fset, found))
			} else if !f.NeedsTypes && len(found) == 0 {
				t.Error("without types nothing is found and NeedsTypes is not set")
			}
		})
	}
}

// What must be accepted: text that a value of that kind cannot contain may follow it at once.
func TestBind_separators(t *testing.T) {
	for _, tt := range []struct{ sig, key string }{
		{"f(a, b string)", "{a}:{b}"},
		{"f(a, b string)", "{a}/-{b}"},
		{"f(a, b string)", "{{{a}}}:{b}"},
		{"f(a, b string)", "{a}é{b}"},
		{"f(a string)", "{a|lower}Z"},
		{"f(a, b uint)", "{a}-{b}"},
		{"f(a, b int)", "{a}x{b}"},
		{"f(a, b bool)", "{a}-{b}"},
		{"f(a, b string)", "{a|hash}-{b|hash}"},
		{"f(a, b []int)", "{len(a)}-{len(b)}"},
		{"f[K ~uint8 | ~uint16](a, b K)", "{a}-{b}"},
	} {
		_, _, _, found := bound(t, "//lock:key="+tt.key+",ttl=30s\nfunc "+tt.sig+" {}", true)
		for _, p := range found {
			t.Errorf("%s in %s: unexpected problem: %s", tt.key, tt.sig, p.Message)
		}
	}
}
