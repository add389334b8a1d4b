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

// findGuarded collects the guarded functions of the package and tells importers about them.
func (ix *index) findGuarded() {
	ix.guarded, ix.fenced = map[*types.Func]*guarded{}, map[types.Object]bool{}
	for _, file := range ix.pass.Files {
		if !mentionsDirective(file) {
			continue
		}
		found := directive.Find(file)
		ix.markFenced(found.Fenced)
		for _, a := range found.Funcs {
			obj, ok := ix.pass.TypesInfo.Defs[a.Decl.Name].(*types.Func)
			if !ok {
				continue
			}
			written := ""
			if a.Directive.Func != nil {
				written = a.Directive.Func.Value
			}
			g := &guarded{a.Decl, directive.WrapperName(a.Decl.Name.Name, written)}
			ix.guarded[obj] = g
			ix.pass.ExportObjectFact(obj, &guardedFact{g.wrapper})
			ix.carrier = true
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
func (ix *index) wrapperFor(fn *types.Func) string {
	fn = fn.Origin()
	if g := ix.guarded[fn]; g != nil {
		return g.wrapper
	}
	var f guardedFact
	if fn.Pkg() != nil && fn.Pkg() != ix.pass.Pkg && ix.pass.ImportObjectFact(fn, &f) {
		return f.Wrapper
	}
	return ""
}
