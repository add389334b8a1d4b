package decls

import (
	"go/ast"

	"golang.org/x/tools/go/packages"

	"github.com/lockgen/lockgen/cmd/internal/directive"
)

// A depth says how much of a declaration has to be known.
type depth uint8

const (
	identity depth = iota + 1 // which type it is: an alias could stand for a context or a locker
	inside                    // its fields and methods too
	contents                  // all that a copy of a value copies
)

// A reach finds the declarations that directives depend on: a signature names types, a key reads fields of some, a
// receiver's struct may hold the locker. Most packages refer to half of the world in one field or another, and nearly
// nothing of that decides what a wrapper looks like.
//
// It works on syntax, before anything is checked. It may take too much, but never too little.
type reach struct {
	files *Sources
	std   *StandIns
	// fields are all names that stand behind a dot in a key or a locker=, of whatever type: a field of such a name is
	// looked into wherever a path could come by.
	fields map[string]bool
	needs  map[string]*need // by ID of the package
	todo   []demand
}

// A need is what is needed of one package.
type need struct {
	p      *packages.Package
	rooted bool // it has directives: all its names are declared, needed or not
	read   bool // its declarations are needed, a stand-in will not do
	depths map[string]depth
	args   map[string]int         // how many type arguments follow a name
	keep   map[*ast.FuncDecl]bool // functions with directives
	index  *index                 // nil until a declaration is looked up
}

type demand struct {
	of   *need
	name string
	d    depth
}

func newReach(files *Sources) *reach {
	return &reach{files: files, std: NewStandIns(), fields: map[string]bool{}, needs: map[string]*need{}}
}

func (r *reach) need(p *packages.Package) *need {
	n := r.needs[p.ID]
	if n == nil {
		n = &need{p: p, depths: map[string]depth{}, args: map[string]int{}, keep: map[*ast.FuncDecl]bool{}}
		r.needs[p.ID] = n
	}
	return n
}

// indexOf is the index of a package, made when the first of its declarations is looked up.
func (r *reach) indexOf(n *need) *index {
	if n.index == nil {
		n.index = newIndex(r.files.ParseAll(n.p.GoFiles))
	}
	return n.index
}

// A Root is a function with a directive: what is needed starts there.
type Root struct {
	Decl      *ast.FuncDecl
	Directive *directive.Directive
	File      *ast.File
}

// expect adds the directives of a package. All packages are expected before any is checked.
func (r *reach) expect(p *packages.Package, roots []Root) {
	n := r.need(p)
	n.rooted, n.read = true, true
	for _, a := range roots {
		n.keep[a.Decl] = true
		w := walker{r, n, a.File}
		w.annotated(a.Decl, w.directive(a.Directive), a.Directive.Cron != nil)
	}
}

// settle follows the demands until there are no more.
func (r *reach) settle() {
	for {
		paths := len(r.fields)
		r.drain()
		if len(r.fields) == paths {
			return
		}
		for _, n := range r.needs { // paths lead further than was known when these were followed
			r.again(n)
		}
	}
}

func (r *reach) drain() {
	for len(r.todo) > 0 {
		next := r.todo[len(r.todo)-1]
		r.todo = r.todo[:len(r.todo)-1]
		if next.d > next.of.depths[next.name] {
			next.of.depths[next.name] = next.d
			r.follow(next)
		}
	}
}

// again forgets that the demands on a package were followed.
func (r *reach) again(n *need) {
	for name, d := range n.depths {
		r.todo = append(r.todo, demand{n, name, d})
	}
	clear(n.depths)
}

// follow demands what a declaration refers to.
func (r *reach) follow(x demand) {
	n := x.of
	if !n.read {
		if n.p.Types != nil || n.standard() && n.standsIn(x) {
			return
		}
		n.read = true
		r.again(n)
		return
	}
	o := r.indexOf(n).objects[x.name]
	if o == nil {
		return
	}
	w := walker{r, n, o.file}
	switch spec := o.spec.(type) {
	case *ast.TypeSpec:
		w.typeSpec(spec, x.d)
	case *ast.ValueSpec:
		w.valueSpec(o.decl, spec, x.d)
	default:
		w.function(o.fn.Type, x.d)
	}
}

// standsIn tells whether a stand-in says all that is demanded of a name.
func (n *need) standsIn(x demand) bool {
	return x.d == identity || x.d == contents && Plain(n.p.PkgPath, x.name) || Exact(n.p.PkgPath, x.name)
}

// standard tells whether a package is of the standard library, or our own runtime: their types are told from others by
// their names, no alias among them stands for one that matters.
func (n *need) standard() bool {
	return n.p.PkgPath == directive.RuntimePath || n.p.Module == nil && IsStandard(n.p.PkgPath)
}
