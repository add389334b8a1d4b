package directive

import (
	"fmt"
	"go/token"
	"strings"
	"testing"
)

// summary is what Bind says about the function in one line.
func summary(f *Func) string {
	var parts []string
	for _, p := range f.Params {
		name := p.Name
		if name == "" {
			name = "_"
		}
		switch p.Role {
		case RoleContext:
			name += ":ctx"
		case RoleFence:
			name += fmt.Sprintf(":fence%d", p.Key)
		case RoleLease:
			name += fmt.Sprintf(":lease%d", p.Key)
		}
		if p.Variadic {
			name += "..."
		}
		parts = append(parts, name)
	}
	s := f.Name + "(" + strings.Join(parts, " ") + ")"
	if f.AddsError {
		s += " +error"
	}
	l := f.Locker
	switch l.From {
	case FromNewParam:
		s += " new"
	case FromParam:
		s += fmt.Sprintf(" param%d", l.Param)
	case FromReceiver:
		s += " recv"
	case FromPackage:
		s += " "
		if l.Pkg != nil {
			s += l.Pkg.Path() + "."
		}
		s += l.Var
	}
	return s + strings.Join(append([]string{""}, l.Fields...), ".")
}

var bindTests = []struct {
	args, sig, want string
	syntax          bool // the same without type information, and complete
}{
	{"", "placeOrderLocked()", "placeOrder() +error new", true},
	{"", "PlaceOrderLocked()", "PlaceOrder() +error new", true},
	{"", "placeOrder() error", "placeOrderWithLock() new", true},
	{"", "Locked() error", "LockedWithLock() new", true},
	{"", "unlocked() error", "unlockedWithLock() new", true},
	{",func=Place", "placeOrderLocked() error", "Place() new", true},
	{"", "f(ctx context.Context) error", "fWithLock(ctx:ctx) new", true},
	{"", "f(context.Context) error", "fWithLock(_:ctx) new", true},
	{"", "f(_ context.Context, a, b string, c ...int) (string, error)", "fWithLock(_:ctx a b c...) new", true},
	{"", "f() (error, string)", "fWithLock() +error new", true},
	{"", "f() (n int, err error)", "fWithLock() new", true},
	{"", "f(c Ctx) error", "fWithLock(c:ctx) new", false},
	{"", "f(ctx context.Context, fence lockrt.Fence) error", "fWithLock(ctx:ctx fence:fence0) new", true},
	{"", "f(_ lockrt.Fence, l *lockrt.Lease) error", "fWithLock(_:fence0 l:lease0) new", true},
	{",key=b", "f(x, y lockrt.Fence, l *lockrt.Lease) error", "fWithLock(x:fence0 y:fence1 l:lease0) new", true},
	{"", "f(fences ...lockrt.Fence) error", "fWithLock(fences...) new", true},
	{"", "f(l *lockrt.Locker) error", "fWithLock(l) param0", true},
	{"", "f(ctx context.Context, db *sql.DB, l *lockrt.Locker) error", "fWithLock(ctx:ctx db l) param2", true},
	{",locker=b", "f(a, b *lockrt.Locker) error", "fWithLock(a b) param1", true},
	{",locker=Locks", "f() error", "fWithLock() Locks", false},
	{",locker=conf.Locks", "f() error", "fWithLock() example.com/conf.Locks", false},
	{",locker=s.locks", "f(s *Shop) error", "fWithLock(s) param0.locks", false},
	{",locker=conf", "f(conf *lockrt.Locker) error", "fWithLock(conf) param0", true},
	{"", "(s *Shop) f() error", "fWithLock() recv.locks", false},
	{"", "(Shop) f() error", "fWithLock() recv.locks", false},
	{"", "(s *Shop) f(l *lockrt.Locker) error", "fWithLock(l) recv.locks", false},
	{"", "(e Emb) f() error", "fWithLock() recv.Shop.locks", false},
	{"", "(d *Deep) f() error", "fWithLock() recv.Base.Open", false},
	{",locker=d.Open", "(d *Deep) f() error", "fWithLock() recv.Base.Open", false},
	{",locker=d.Shop.locks", "(d *Deep) f() error", "fWithLock() recv.Shop.locks", false},
	{",locker=t.b", "(t *Two) f() error", "fWithLock() recv.b", false},
	{"", "(p *Plain) f() error", "fWithLock() new", false},
	{"", "(p *Plain) f(l *lockrt.Locker) error", "fWithLock(l) param0", false},
	{"", "(i ID) f() error", "fWithLock() new", false},
	{"", "(g *Gen[K]) f(k K) error", "fWithLock(k) recv.locks", false},
	{"", "(s *Shop) init() error", "initWithLock() recv.locks", false},
	{"", "(s *Shop) typesLocked() error", "types() recv.locks", false},
	{"", "f[T any](t T) error", "fWithLock(t) new", true},
	{"", "f(o Order) error", "fWithLock(o) new", false},
}

func TestBind(t *testing.T) {
	for _, tt := range bindTests {
		t.Run(tt.args+" "+tt.sig, func(t *testing.T) {
			src := "//lock:key=a,ttl=30s" + tt.args + "\nfunc " + tt.sig + " {}"
			_, _, f, found := bound(t, src, true)
			for _, p := range found {
				t.Errorf("unexpected problem: %s", p.Message)
			}
			if got := summary(f); got != tt.want || f.NeedsTypes {
				t.Errorf("gives %s (NeedsTypes %t), want %s", got, f.NeedsTypes, tt.want)
			}
			_, _, f, found = bound(t, src, false)
			for _, p := range found {
				t.Errorf("unexpected problem without types: %s", p.Message)
			}
			if got := summary(f); tt.syntax && (got != tt.want || f.NeedsTypes) {
				t.Errorf("without types gives %s (NeedsTypes %t), want %s", got, f.NeedsTypes, tt.want)
			} else if !tt.syntax && !f.NeedsTypes {
				t.Errorf("without types gives %s and claims to need none", got)
			}
		})
	}
}

// ‹…› is what the problem spans; where nothing is marked it is the first line.
var bindErrors = []struct {
	args, sig string
	wants     []want
}{
	{"", "f(a int, ctx context.Context)", []want{{"context", "parameter 2", "move it to the front"}}},
	{"", "f(a, b lockrt.Fence)", []want{{"lease", "2 parameters of type lockrt.Fence for 1 key"}}},
	{",key=b", "f(a, b, c *lockrt.Lease)", []want{{"lease", "3 parameters of type *lockrt.Lease for 2 keys"}}},
	{"", "f(a lockrt.Lease)", []want{{"lease", "by value"}}},
	{"", "f(a *lockrt.Fence)", []want{{"lease", "pointer"}}},
	{"", "f(a, b *lockrt.Locker)", []want{{"locker", "2 parameters of type *lockrt.Locker", "locker="}}},
	{"", "(t *Two) f()", []want{{"locker", "Two has 2 fields", "locker=t.a or t.b"}}},
	{",locker=‹s.lock›", "(s *Shop) f()", []want{{"locker", "Shop has no field lock", `did you mean "locks"`}}},
	{",locker=‹s.name›", "(s *Shop) f()", []want{{"locker", "has type string: it must be a *lockrt.Locker"}}},
	{",locker=‹locks›", "(s *Shop) f()", []want{{"locker", "no receiver, parameter or package variable locks",
		`did you mean "s.locks"`}}},
	{",locker=‹Lock›", "f()", []want{{"locker", `did you mean "Locks"`}}},
	{",locker=‹NotLocks›", "f()", []want{{"locker", "has type int"}}},
	{",locker=‹function›", "f()", []want{{"locker", "names a function"}}},
	{",locker=‹conf.Lox›", "f()", []want{{"locker", "package example.com/conf has no exported variable Lox"}}},
	{",locker=‹d.Base.locks›", "(d *Deep) f()", []want{{"locker", "no field locks"}}},
	{",locker=‹l.x›", "f(l *lockrt.Lease)", []want{{"locker", "exists only once the lock is held"}}},
	{",func=‹f›", "f()", []want{{"wrapper-name", "the name of f itself"}}},
	{"", "initLocked()", []want{{"wrapper-name", "would be called init", "func="}}},
	{"", "_Locked()", []want{{"wrapper-name", "would be called _"}}},
	{"", "typeLocked()", []want{{"wrapper-name", "would be called type"}}},
	{"", "init()", []want{{"wrapper-name", "init cannot be called"}}},
	{"", "_()", []want{{"wrapper-name", "_ cannot be called"}}},
	{"", "functionLocked()", []want{{"name-clash", "would be called function", "declares that name already"}}},
	{",func=‹Variable›", "f()", []want{{"name-clash"}}},
	{",func=‹name›", "(s *Shop) f()", []want{{"name-clash", "type Shop has a field or method"}}},
	{",func=‹Total›", "(o *Order) f()", []want{{"name-clash"}}},
	{`,‹cron="@daily"›`, "f[T any]()", []want{{"cron-generic", "f is generic"}}},
	{`,‹cron="@daily"›`, "(*Gen[T]) f()", []want{{"cron-generic", "f is a method of the generic type Gen"}}},
	{`,‹cron="@daily"›`, "(g Gen[_]) f()", []want{{"cron-generic", "one job"}}},
	// All at once.
	{",wait=‹@Nope›,func=‹Variable›,locker=‹Nope›", "f(x float64)", []want{{"constant"}, {"name-clash"}, {"locker"}}},
}

func TestBind_errors(t *testing.T) {
	for _, tt := range bindErrors {
		t.Run(tt.args+" "+tt.sig, func(t *testing.T) {
			line := "//lock:key=a,ttl=30s" + tt.args
			if !strings.Contains(tt.args, "‹") {
				line = "//‹" + line[2:] + "›"
			}
			marked, spans := unmark(t, line+"\nfunc "+tt.sig+" {}")
			for i := range spans {
				spans[i].from += len(prelude) + 1
				spans[i].to += len(prelude) + 1
			}
			text, fset, _, found := bound(t, marked, true)
			checkProblems(t, text, spans, tt.wants, rebase(fset, found))
		})
	}
}

func TestWrapperName_written(t *testing.T) {
	if got := WrapperName("placeLocked", "Other"); got != "Other" {
		t.Errorf("func=Other gives %s", got)
	}
}

// A wrapper that an earlier run wrote is no clash.
func TestBind_generated(t *testing.T) {
	_, file := parseSource(t, "package p\n\n//lock:key=a,ttl=30s\nfunc fLocked() {}\n\nfunc f() {}\n")
	a := Find(file).Funcs[0]
	target := Target{File: file, Decl: a.Decl}
	if _, found := Bind(a.Directive, target); len(found) != 1 || found[0].Slug != "name-clash" {
		t.Errorf("problems %v, want one name-clash", found)
	}
	asked := 0
	target.Generated = func(p token.Pos) bool { asked++; return p == file.Decls[1].Pos() }
	if _, found := Bind(a.Directive, target); len(found) != 0 || asked == 0 {
		t.Errorf("problems %v after asking %d times, want none", found, asked)
	}
}

// TestBind_writtenType: what stands in for a type that is not known does not show.
func TestBind_writtenType(t *testing.T) {
	_, _, _, found := bound(t, "//lock:key=a:{m}:{xs},ttl=30s\nfunc f(m map[string]ID, xs ...string) {}", false)
	if len(found) != 2 || !strings.Contains(found[0].Message, "type map[string]ID, and") ||
		!strings.Contains(found[1].Message, "type ...string, and") {
		t.Errorf("%v", found)
	}
}

func TestLikelyName(t *testing.T) {
	for path, want := range map[string]string{
		"time": "time", "database/sql": "sql", "example.com/app/v2": "app", "example.com/app/v23": "app",
		"example.com/v":     "v",
		"example.com/app/2": "2", "example.com/very": "very", "v2": "v2", "": "", "example.com/v2x": "v2x",
		"example.com/app/v-2": "v-2",
	} {
		if got := LikelyName(path); got != want {
			t.Errorf("%q: %q, want %q", path, got, want)
		}
	}
}
