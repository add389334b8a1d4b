package lockcheck

import (
	"go/ast"
	"go/types"
	"strings"

	"github.com/lockgen/lockgen/cmd/internal/directive"
)

// A guarded function has a //lock: directive: it relies on its wrapper to hold the lock.
type guarded struct {
	decl    *ast.FuncDecl
	wrapper string
}

// directives are the functions with a //lock: directive and what //lock:fenced marks.
type directives struct {
	p       *program
	guarded map[*types.Func]*guarded
	fenced  map[types.Object]bool
}

func newDirectives(p *program) *directives {
	return &directives{p, map[*types.Func]*guarded{}, map[types.Object]bool{}}
}

// findGuarded collects the guarded functions of the package and tells importers about them.
func (d *directives) findGuarded() {
	for _, file := range d.p.pass.Files {
		if !mentionsDirective(file) {
			continue
		}
		found := directive.Find(file)
		d.markFenced(found.Fenced)
		for _, a := range found.Funcs {
			obj, ok := d.p.pass.TypesInfo.Defs[a.Decl.Name].(*types.Func)
			if !ok {
				continue
			}
			written := ""
			if a.Directive.Func != nil {
				written = a.Directive.Func.Value
			}
			g := &guarded{a.Decl, directive.WrapperName(a.Decl.Name.Name, written)}
			d.guarded[obj] = g
			d.p.pass.ExportObjectFact(obj, &guardedFact{g.wrapper})
			d.p.carrier = true
		}
	}
}

// mentionsDirective spares files without any directive the search for one.
func mentionsDirective(file *ast.File) bool {
	for _, group := range file.Comments {
		for _, c := range group.List {
			if strings.Contains(strings.ToLower(c.Text), "lock:") {
				return true
			}
		}
	}
	return false
}

// wrapperFor returns the name of the wrapper that guards fn, "" if fn is not guarded.
func (d *directives) wrapperFor(fn *types.Func) string {
	fn = fn.Origin()
	if g := d.guarded[fn]; g != nil {
		return g.wrapper
	}
	var f guardedFact
	if fn.Pkg() != nil && fn.Pkg() != d.p.pass.Pkg && d.p.pass.ImportObjectFact(fn, &f) {
		return f.Wrapper
	}
	return ""
}
