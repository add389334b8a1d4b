package directive

import (
	"go/ast"
	"go/types"
	"strings"
	"testing"
)

// A package that does not compile, because a type or a wrapper is not generated yet, is bound as far as it is known:
// nothing is reported that the missing type could make right.
func TestBind_brokenPackage(t *testing.T) {
	const src = `package p

import (
	"context"
	"nowhere/missing"
	lockrt "github.com/lockgen/lockgen/runtime"
)

type Shop struct {
	locks *lockrt.Locker
	gone  Gone
}

type Part struct {
	missing.Base
	next *Gone
}

//lock:key=order:{id}:{s.gone.X}:{m}:{o.Y}:{p.Z}:{p.next.Z},ttl=30s
func (s *Shop) placeOrderLocked(ctx context.Context, id int, m *missing.M, o Gone, p Part) (Gone, error) {
	return s.notYet()
}
`
	fset, file := parseSource(t, src)
	info := &types.Info{Defs: map[*ast.Ident]types.Object{}, Types: map[ast.Expr]types.TypeAndValue{}}
	conf := &types.Config{Importer: fakes{}, IgnoreFuncBodies: true, Error: func(error) {}}
	pkg, err := conf.Check("p", fset, []*ast.File{file}, info)
	if err == nil {
		t.Fatal("the test's package compiles")
	}
	a := Find(file).Funcs[0]
	f, found := Bind(a.Directive, Target{File: file, Decl: a.Decl, Pkg: pkg, Info: info})
	for _, p := range found {
		t.Errorf("unexpected problem: %s", p.Message)
	}
	if got, want := summary(f), "placeOrder(ctx:ctx id m o p) recv.locks"; got != want {
		t.Errorf("gives %s, want %s", got, want)
	}
	var values []string
	for _, part := range f.Keys[0].Parts {
		if part.Hole != nil {
			values = append(values, describe(part.Value))
		}
	}
	if got, want := strings.Join(values, ", "), "1 int, nil, nil, nil, nil, nil"; got != want {
		t.Errorf("reads %s, want %s", got, want)
	}
	if !f.NeedsTypes {
		t.Error("types are missing and NeedsTypes is not set")
	}
}

// What a constant is worth that is made of an unknown one may make a directive right or wrong: nothing is said of it,
// and nothing generated.
func TestBind_unknownConstant(t *testing.T) {
	for _, src := range []string{
		"import \"nowhere/missing\"\n\nconst spec = missing.Spec\n\n//lock:key=a,ttl=1s,cron=@spec\nfunc f() {}\n",
		"import \"nowhere/missing\"\n\nvar _ missing.T\n\n//lock:key=a,ttl=1s,cron=@missing.Spec\nfunc f() {}\n",
	} {
		fset, file := parseSource(t, "package p\n\n"+src)
		conf := &types.Config{Importer: fakes{}, Error: func(error) {}}
		pkg, err := conf.Check("p", fset, []*ast.File{file}, nil)
		if err == nil {
			t.Fatal("the test's package compiles")
		}
		a := Find(file).Funcs[0]
		f, found := Bind(a.Directive, Target{File: file, Decl: a.Decl, Pkg: pkg})
		if !f.NeedsTypes || len(found) > 0 || f.Directive.Cron.Const.Object != nil {
			t.Errorf("NeedsTypes is %t, problems %v, the constant %v with\n%s", f.NeedsTypes, found,
				f.Directive.Cron.Const.Object, src)
		}
	}
}
