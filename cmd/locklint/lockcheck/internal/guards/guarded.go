// Package guards knows the functions with a //lock: directive and what //lock:fenced marks.
package guards

import (
	"go/ast"
	"go/types"
	"regexp"
	"strings"

	"github.com/lockgen/lockgen/cmd/internal/directive"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/program"
)

// A Fact stands on a function with a //lock: directive.
type Fact struct {
	Wrapper string // what to call instead
}

// AFact marks the type.
func (*Fact) AFact() {}

func (f *Fact) String() string { return "guarded(" + f.Wrapper + ")" }

// A Func function has a //lock: directive: it relies on its wrapper to hold the lock.
type Func struct {
	Decl    *ast.FuncDecl
	Wrapper string
	Tx      bool // the wrapper begins a transaction for it
	Keys    []*directive.Key
}

// Directives are the functions with a //lock: directive and what //lock:fenced marks.
type Directives struct {
	p       *program.Package
	Guarded map[*types.Func]*Func
	Own     []OwnKey
	// Imported are the keys of the packages that the package is built from, by path: for a package with keys, or a program.
	Imported map[string]*Keys
	fenced   map[types.Object]bool
}

// New is empty until FindGuarded has run.
func New(p *program.Package) *Directives {
	return &Directives{p: p, Guarded: map[*types.Func]*Func{}, fenced: map[types.Object]bool{},
		Imported: map[string]*Keys{}}
}

// FindGuarded collects the guarded functions of the package and tells importers about them.
func (d *Directives) FindGuarded() {
	var files []*ast.File
	for _, file := range d.p.Pass.Files {
		if MentionsDirective(file) {
			files = append(files, file)
		}
	}
	all := directive.FindAll(files, Place(d.p.Pass))
	for _, found := range all {
		d.markFenced(found.Fenced)
		for _, a := range found.Funcs {
			obj, ok := d.p.Pass.TypesInfo.Defs[a.Decl.Name].(*types.Func)
			if !ok {
				continue
			}
			written := ""
			if a.Directive.Func != nil {
				written = a.Directive.Func.Value
			}
			g := &Func{a.Decl, directive.WrapperName(a.Decl.Name.Name, written), a.Directive.Tx != nil, a.Directive.Keys}
			d.Guarded[obj] = g
			d.p.Pass.ExportObjectFact(obj, &Fact{g.Wrapper})
			d.p.Carrier = true
		}
	}
	d.findKeys(files, all)
}

// MentionsDirective spares files without any directive, or comment that looks like one, the search for it.
func MentionsDirective(file *ast.File) bool {
	for _, group := range file.Comments {
		for _, c := range group.List {
			if strings.Contains(strings.ToLower(c.Text), "lock") {
				return true
			}
		}
	}
	return false
}

// WrapperFor returns the name of the wrapper that guards fn, "" if fn is not guarded.
func (d *Directives) WrapperFor(fn *types.Func) string {
	fn = fn.Origin()
	if g := d.Guarded[fn]; g != nil {
		return g.Wrapper
	}
	var f Fact
	if fn.Pkg() != nil && fn.Pkg() != d.p.Pass.Pkg && d.p.Pass.ImportObjectFact(fn, &f) {
		return f.Wrapper
	}
	return ""
}

// WriteName finds methods that change something by their names.
var WriteName = regexp.MustCompile(`^(Set|Put|Save|Store|Insert|Update|Upsert|Delete|Remove|Create|Write|Exec|` +
	`Incr|Decr|HSet|HDel|LPush|RPush|SAdd|ZAdd|Expire|Commit|Transfer|Charge|Pay|Sell)`)

// NeverFires reports whether a problem of a directive is this check's: the spec can be read, and means no day at all.
func NeverFires(p directive.Problem) bool {
	return p.Slug == "cron" && strings.Contains(p.Message, "it never fires")
}
