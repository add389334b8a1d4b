package driver

import (
	"testing"

	"golang.org/x/tools/go/packages"
)

// TestLoader_worlds: only what imports a package that was compiled again for a test binary has types of its own, and
// they are gone with the last package that needs them.
func TestLoader_worlds(t *testing.T) {
	base := &packages.Package{ID: "base", PkgPath: "base", ExportFile: "x"}
	inside := &packages.Package{ID: "a [a.test]", PkgPath: "a", ExportFile: "x",
		Imports: map[string]*packages.Package{"base": base}}
	outside := &packages.Package{ID: "a_test [a.test]", PkgPath: "a_test", ExportFile: "x",
		Imports: map[string]*packages.Package{"a": inside, "base": base}}
	again := &packages.Package{ID: "b [a.test]", PkgPath: "b", ExportFile: "x",
		Imports: map[string]*packages.Package{"a": inside}}
	l := newLoader()
	shared, own := l.node(base).world, l.node(outside).world
	if l.node(inside).world != shared {
		t.Error("a package with tests inside has a world of its own")
	}
	if own == shared || l.node(again).world != own {
		t.Error("what imports a package that was compiled again does not share the world of the test binary")
	}
	own.leave()
	if own.imported == nil {
		t.Error("the world ends before its last package")
	}
	own.leave()
	if own.imported != nil || own.fset != nil {
		t.Error("the world does not end with its last package")
	}
	if shared.imported == nil {
		t.Error("the shared world has ended")
	}
}

// TestNode_settle: types are kept only of a package of which the compiler exports nothing.
func TestNode_settle(t *testing.T) {
	matrixModule(t)
	pkgs, err := load([]string{"./errors", "./broken", "./above"}, true, "")
	if err != nil {
		t.Fatal(err)
	}
	o, err := parse([]string{"./..."})
	if err != nil {
		t.Fatal(err)
	}
	l := newLoader()
	for _, n := range l.analyze(pkgs, o.checks) {
		if n.res == nil {
			t.Errorf("%s was not looked at", n.pkg.ID)
			continue
		}
		if n.res.Checks != nil || (n.res.Types != nil) != n.broken() {
			t.Errorf("%s keeps checks: %t, types: %t", n.pkg.ID, n.res.Checks != nil, n.res.Types != nil)
		}
	}
	for _, w := range l.worlds {
		if w.imported != nil {
			t.Error("a world has not ended")
		}
	}
}
