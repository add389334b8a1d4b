package unit

import (
	"bytes"
	"cmp"
	"encoding/gob"
	"fmt"
	"go/types"
	"reflect"
	"slices"
	"sync"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck"
	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/types/objectpath"
)

// Facts are what packages tell those that import them, by package path. They stay encoded until somebody asks about
// the package, which is mostly never, and are handed on to importers as they are.
type Facts map[string]Told

// Told is what one package tells.
type Told struct {
	Carrier bool // it makes its importers worth looking at
	Facts   []byte
}

// A told fact on the object with a path, or on the package if the path is empty.
type told struct {
	Path objectpath.Path
	Fact analysis.Fact
}

// Add puts in what others know. Where both know of a package, they know the same: it was analysed once.
func (f Facts) Add(other Facts) {
	for path, t := range other {
		f[path] = t
	}
}

// carriers reports whether any of the packages makes its importers worth looking at.
func (f Facts) carriers() bool {
	for _, t := range f {
		if t.Carrier {
			return true
		}
	}
	return false
}

// register makes the analyzers' fact types known to gob.
var register = sync.OnceFunc(func() {
	seen := map[*analysis.Analyzer]bool{}
	var visit func(a *analysis.Analyzer)
	visit = func(a *analysis.Analyzer) {
		if seen[a] {
			return
		}
		seen[a] = true
		for _, f := range a.FactTypes {
			gob.Register(f)
		}
		for _, r := range a.Requires {
			visit(r)
		}
	}
	for _, c := range lockcheck.Checks {
		visit(c.Analyzer)
	}
})

// A factSet is the facts during the analysis of one package. Analyzers use it in turn, not at once.
type factSet struct {
	pkg      *types.Package
	imported Facts
	decoded  map[*types.Package]map[factKey]analysis.Fact // the imported ones that somebody asked about
	own      map[factKey]analysis.Fact
	err      error // the first that an analyzer could not be told of
}

type factKey struct {
	obj types.Object // nil for a fact on the package
	typ reflect.Type
}

func newFactSet(pkg *types.Package, imported, linked Facts) *factSet {
	register()
	s := &factSet{pkg: pkg, imported: imported, decoded: map[*types.Package]map[factKey]analysis.Fact{}}
	s.own = s.decode(pkg, linked)
	return s
}

// of returns the facts of a package.
func (s *factSet) of(pkg *types.Package) map[factKey]analysis.Fact {
	if pkg == s.pkg {
		return s.own
	}
	facts, ok := s.decoded[pkg]
	if !ok {
		facts = s.decode(pkg, s.imported)
		s.decoded[pkg] = facts
	}
	return facts
}

// decode returns the facts of a package among all.
func (s *factSet) decode(pkg *types.Package, all Facts) map[factKey]analysis.Fact {
	facts := map[factKey]analysis.Fact{}
	list, err := decode(all[pkg.Path()].Facts)
	s.err = cmp.Or(s.err, err)
	for _, t := range list {
		var obj types.Object
		if t.Path != "" {
			if obj, err = objectpath.Object(pkg, t.Path); err != nil {
				continue // not in what the compiler exports, so out of the package's reach as well
			}
		}
		facts[factKey{obj, reflect.TypeOf(t.Fact)}] = t.Fact
	}
	return facts
}

func (s *factSet) load(pkg *types.Package, obj types.Object, into analysis.Fact) bool {
	if pkg == nil || pkg != s.pkg && s.imported[pkg.Path()].Facts == nil {
		return false
	}
	f, ok := s.of(pkg)[factKey{obj, reflect.TypeOf(into)}]
	if ok {
		reflect.ValueOf(into).Elem().Set(reflect.ValueOf(f).Elem())
	}
	return ok
}

func (s *factSet) importObject(obj types.Object, into analysis.Fact) bool {
	return s.load(obj.Pkg(), obj, into)
}

func (s *factSet) importPackage(pkg *types.Package, into analysis.Fact) bool {
	return s.load(pkg, nil, into)
}

func (s *factSet) exportObject(obj types.Object, f analysis.Fact) {
	s.own[factKey{obj, reflect.TypeOf(f)}] = f
}

func (s *factSet) exportPackage(f analysis.Fact) { s.own[factKey{nil, reflect.TypeOf(f)}] = f }

// allPackageFacts also names packages of which nothing is known but their path: not all that is imported through
// others is visible in what the compiler exports.
func (s *factSet) allPackageFacts() []analysis.PackageFact {
	known := map[string]*types.Package{}
	s.visit(s.pkg, known)
	var list []analysis.PackageFact
	for path, t := range s.imported {
		told, err := decode(t.Facts)
		s.err = cmp.Or(s.err, err)
		for _, t := range told {
			if t.Path != "" {
				continue
			}
			if known[path] == nil {
				known[path] = types.NewPackage(path, "")
			}
			list = append(list, analysis.PackageFact{Package: known[path], Fact: t.Fact})
		}
	}
	for k, f := range s.own {
		if k.obj == nil {
			list = append(list, analysis.PackageFact{Package: s.pkg, Fact: f})
		}
	}
	return list
}

func (s *factSet) allObjectFacts() []analysis.ObjectFact {
	known := map[string]*types.Package{}
	s.visit(s.pkg, known)
	var list []analysis.ObjectFact
	for path, p := range known {
		if p != s.pkg && s.imported[path].Facts == nil {
			continue
		}
		for k, f := range s.of(p) {
			if k.obj != nil {
				list = append(list, analysis.ObjectFact{Object: k.obj, Fact: f})
			}
		}
	}
	return list
}

// visit collects a package and all that it imports.
func (s *factSet) visit(p *types.Package, known map[string]*types.Package) {
	if known[p.Path()] == nil {
		known[p.Path()] = p
		for _, imp := range p.Imports() {
			s.visit(imp, known)
		}
	}
}

// export encodes what the package tells its importers, together with what it was told. The order is fixed: the go
// command caches by content.
func (s *factSet) export() (Facts, error) {
	all := Facts{}
	all.Add(s.imported)
	var list []told
	var paths objectpath.Encoder
	mine := Told{}
	for k, f := range s.own {
		t := told{Fact: f}
		if k.obj != nil {
			path, err := paths.For(k.obj)
			if err != nil {
				continue // local to a function: nobody else can mean it
			}
			t.Path = path
		}
		list = append(list, t)
		mine.Carrier = mine.Carrier || lockcheck.Carries(f)
	}
	if len(list) == 0 {
		return all, s.err
	}
	data, err := encode(s.pkg.Path(), list)
	if err != nil {
		return nil, err
	}
	mine.Facts = data
	all[s.pkg.Path()] = mine
	return all, s.err
}

func encode(pkg string, list []told) ([]byte, error) {
	slices.SortFunc(list, func(a, b told) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(fmt.Sprintf("%T", a.Fact), fmt.Sprintf("%T", b.Fact)))
	})
	var buf bytes.Buffer
	if err := gob.NewEncoder(&buf).Encode(list); err != nil {
		return nil, fmt.Errorf("cannot encode the facts of %s: %w", pkg, err)
	}
	return buf.Bytes(), nil
}

func decode(data []byte) ([]told, error) {
	if len(data) == 0 {
		return nil, nil
	}
	var list []told
	if err := gob.NewDecoder(bytes.NewReader(data)).Decode(&list); err != nil {
		return nil, fmt.Errorf("cannot decode facts: %w", err)
	}
	if slices.ContainsFunc(list, func(t told) bool { return t.Fact == nil }) {
		return nil, fmt.Errorf("cannot decode facts: an element has none; another version of locklint may have written them")
	}
	return list, nil
}
