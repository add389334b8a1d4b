package unit

import (
	"fmt"
	goimporter "go/importer"
	"go/scanner"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck"
)

// A module is packages by path, each of one file, and what came of them.
type module struct {
	t    testing.TB
	fset *token.FileSet
	std  types.Importer
	done map[string]*Result

	checks []*lockcheck.Check
}

// newModule has the checks with the given IDs run on it, all that are on by default if there are none.
func newModule(t testing.TB, ids ...string) *module {
	fset := token.NewFileSet()
	m := &module{t: t, fset: fset, std: goimporter.ForCompiler(fset, "source", nil), done: map[string]*Result{}}
	for _, c := range lockcheck.Checks {
		if slices.Contains(ids, c.ID) || len(ids) == 0 && !c.Off {
			m.checks = append(m.checks, c)
		}
	}
	return m
}

// run looks at a package that may import those before it.
func (m *module) run(path, text string, change func(*Package)) *Result {
	m.t.Helper()
	name := filepath.Join(m.t.TempDir(), "p.go")
	if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
		m.t.Fatal(err)
	}
	p := &Package{Path: path, GoFiles: []string{name}, Fset: m.fset, Facts: Facts{}, NeedTypes: true, Import: m.types}
	for _, res := range m.done {
		p.Facts.Add(res.Facts)
	}
	if change != nil {
		change(p)
	}
	res, err := p.Run(m.checks)
	if err != nil {
		m.t.Fatal(err)
	}
	for _, err := range res.Failed {
		m.t.Error(err)
	}
	m.done[path] = res
	return res
}

func (m *module) types(path string) (*types.Package, error) {
	if res := m.done[path]; res != nil {
		return res.Types, nil
	}
	if strings.Contains(path, ".") {
		return nil, fmt.Errorf("there is no package %s", path)
	}
	return m.std.Import(path)
}

// found are the IDs of the findings, in order.
func found(res *Result) []string {
	var ids []string
	for c, r := range res.Checks {
		for range r.Findings {
			ids = append(ids, c.ID)
		}
	}
	slices.Sort(ids)
	return ids
}

const (
	shop = `package shop

//lock:key=a
func PayLocked() {}

func Pay() { PayLocked() }

type Client interface {
	SetNX(key, value string) bool
	Del(keys ...string) int
}

func Take(c Client, key string) bool { return c.SetNX(key, "1") }
`
	between = "package between\n\nimport \"a.b/shop\"\n\nfunc Give(c shop.Client, key string) { c.Del(key) }\n"
	user    = `package user

import (
	"a.b/between"
	"a.b/shop"
)

func f(c shop.Client) {
	shop.PayLocked()
	if shop.Take(c, "lock:a") {
		defer between.Give(c, "lock:a")
	}
}
`
)

// TestRun_facts: what packages tell reaches those above, encoded, also past one that tells something itself.
func TestRun_facts(t *testing.T) {
	m := newModule(t, "LL1003", "LL2002")
	if ids := found(m.run("a.b/shop", shop, nil)); slices.Contains(ids, "LL1003") {
		t.Errorf("the wrapper is reported: %v", ids)
	}
	m.run("a.b/between", between, nil)
	res := m.run("a.b/user", user, nil)
	if ids := found(res); !slices.Equal(ids, []string{"LL1003", "LL2002"}) {
		t.Errorf("the findings are %v, want the direct call and the plain DEL", ids)
	}
	for path := range map[string]bool{"a.b/shop": true, "a.b/between": true} {
		if told := res.Facts[path]; !told.Carrier || len(told.Facts) == 0 {
			t.Errorf("%s tells the importers of a.b/user nothing: %+v", path, told)
		}
	}
}

// TestRun_withoutFacts: without them there is nothing to find above.
func TestRun_withoutFacts(t *testing.T) {
	m := newModule(t, "LL1003", "LL2002")
	m.run("a.b/shop", shop, nil)
	m.run("a.b/between", between, nil)
	res := m.run("a.b/user", user, func(p *Package) { p.Facts = Facts{} })
	if ids := found(res); len(ids) > 0 {
		t.Errorf("the findings are %v", ids)
	}
}

// TestRun_irrelevant: a package that cannot have findings is not even parsed, unless somebody needs its types.
func TestRun_irrelevant(t *testing.T) {
	m := newModule(t)
	res := m.run("a.b/c", "package c\n\nfunc (", func(p *Package) { p.NeedTypes = false })
	if res.Checks != nil || res.Types != nil || len(res.Errors) > 0 {
		t.Errorf("it was looked at: %+v", res)
	}
	if res := m.run("a.b/c", "package c\n\nfunc F() {}\n", nil); res.Types == nil || res.Checks != nil {
		t.Errorf("types %v, checks %v; want types alone", res.Types, res.Checks)
	}
	m.run("a.b/shop", shop, nil)
	res = m.run("a.b/d", "package d\n\nimport \"a.b/shop\"\n\nvar _ = shop.Pay\n", func(p *Package) { p.NeedTypes = false })
	if res.Checks == nil {
		t.Error("a package above one that tells something was left out")
	}
}

// TestRun_errors: a package that does not compile has the findings of the checks that get by with syntax.
func TestRun_errors(t *testing.T) {
	for name, text := range map[string]string{
		"types":  "package p\n\nvar x int = missing\n\n//lock:key=a,tll=5s\nfunc g() {}\n\n",
		"import": "package p\n\nimport _ \"a.b/missing\"\n\n//lock:key=a,tll=5s\nfunc g() {}\n",
		"syntax": "package p\n\n//lock:key=a,tll=5s\nfunc g() {}\n\nfunc (\n",
	} {
		res := newModule(t).run("a.b/p", text, nil)
		if len(res.Errors) == 0 {
			t.Errorf("%s: it has no errors", name)
		}
		if ids := found(res); !slices.Equal(ids, []string{"LL1005"}) {
			t.Errorf("%s: the findings are %v, want LL1005", name, ids)
		}
	}
	res := newModule(t).run("a.b/p", "package p\n\nfunc f() { g(1\n\tif x := missing; x {\n\t}\n}\n", nil)
	for _, err := range res.Errors {
		if _, ok := err.(*scanner.Error); !ok {
			t.Errorf("besides errors of syntax there is %v", err)
		}
	}
	if len(res.Errors) == 0 {
		t.Error("a missing parenthesis is no error")
	}
	res = newModule(t).run("a.b/shop", shop+user[len("package user\n"):], func(p *Package) { p.Broken = true })
	if ids := found(res); slices.Contains(ids, "LL2002") {
		t.Errorf("above a package that does not compile the findings are %v", ids)
	}
}

// TestRun_missingFile: files that are not there are an error of the run, not of the package.
func TestRun_missingFile(t *testing.T) {
	p := &Package{Path: "a.b/c", GoFiles: []string{filepath.Join(t.TempDir(), "no.go")}, Fset: token.NewFileSet()}
	if _, err := p.Run(lockcheck.Checks); err == nil {
		t.Error("no error")
	}
}
