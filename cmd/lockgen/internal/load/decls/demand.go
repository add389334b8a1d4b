package decls

import (
	"go/ast"
	"strconv"
	"strings"

	"github.com/lockgen/lockgen/cmd/internal/directive"
)

// A walker demands what stands in one file.
type walker struct {
	*reach
	of   *need
	file *ast.File
}

// directive demands the constants and the paths that a directive names. It returns the names that key and locker paths
// start with.
func (w walker) directive(d *directive.Directive) map[string]bool {
	starts := map[string]bool{}
	for _, key := range d.Keys {
		if key.Template == nil {
			continue
		}
		for _, part := range key.Template.Parts {
			if hole, ok := part.(*directive.Placeholder); ok {
				starts[hole.Path[0].Name] = true
				for _, field := range hole.Path[1:] {
					w.fields[field.Name] = true
				}
			}
		}
	}
	for _, ref := range d.Constants() {
		if ref.Pkg != "" {
			w.imported(ref.Pkg, ref.Name, inside, 0)
		} else {
			w.name(ref.Name, inside)
		}
	}
	for _, from := range []*directive.String{d.Locker, d.Tx} {
		if from == nil {
			continue
		}
		path := strings.Split(from.Value, ".")
		starts[path[0]] = true
		for _, field := range path[1:] {
			w.fields[field] = true
		}
		w.name(path[0], inside)
		if len(path) > 1 {
			w.imported(path[0], path[1], inside, 0)
		}
	}
	if d.Defaults != nil && d.Defaults.Options.Locker != nil {
		path := strings.Split(d.Defaults.Options.Locker.Value, ".")
		for _, field := range path[1:] {
			w.fields[field] = true
		}
		w.name(path[0], inside)
	}
	return starts
}

// annotated demands the types of a function with a directive: the receiver's struct may hold the locker, and the
// parameters that paths start with are looked into. Those of a job are, too: RegisterJobs shares some of them. Results
// are, as far as a copy of them may copy a mutex.
func (w walker) annotated(fn *ast.FuncDecl, starts map[string]bool, job bool) {
	if fn.Recv != nil && len(fn.Recv.List) == 1 {
		w.name(directive.ReceiverBase(fn.Recv.List[0].Type), inside)
	}
	w.function(fn.Type, identity)
	if fn.Type.Results != nil {
		w.holds(fn.Type.Results)
	}
	for _, field := range fn.Type.Params.List {
		for _, name := range field.Names {
			if starts[name.Name] || job {
				w.expr(field.Type, inside)
			}
		}
	}
}

// function demands the types of a signature. How deep is about the results.
func (w walker) function(sig *ast.FuncType, d depth) {
	if sig.TypeParams != nil {
		w.fieldTypes(sig.TypeParams, inside)
	}
	w.fieldTypes(sig.Params, identity)
	if sig.Results != nil {
		w.fieldTypes(sig.Results, d)
	}
}

// name demands what an identifier stands for: a declaration of the package, or one of a package imported with a dot.
func (w walker) name(name string, d depth) {
	if w.indexOf(w.of).objects[name] != nil {
		w.todo = append(w.todo, demand{w.of, name, d})
		return
	}
	for _, spec := range w.file.Imports {
		if spec.Name != nil && spec.Name.Name == "." {
			w.foreign(spec, name, d, 0)
		}
	}
}

// imported demands a name of an imported package, and reports whether there is such an import. One with a blank has the
// package's own name: directives may use it.
func (w walker) imported(qualifier, name string, d depth, args int) bool {
	found := false
	for _, spec := range w.file.Imports {
		local := ""
		if spec.Name != nil && spec.Name.Name != "_" {
			local = spec.Name.Name
		} else if path, err := strconv.Unquote(spec.Path.Value); err == nil && w.of.p.Imports[path] != nil {
			local = w.of.p.Imports[path].Name
		}
		if local == qualifier {
			w.foreign(spec, name, d, args)
			found = true
		}
	}
	return found
}

func (w walker) foreign(spec *ast.ImportSpec, name string, d depth, args int) {
	path, err := strconv.Unquote(spec.Path.Value)
	if err != nil || w.of.p.Imports[path] == nil {
		return
	}
	if p := w.of.p.Imports[path]; !p.IllTyped { // nothing is known of the others
		n := w.need(p)
		n.args[name] = max(n.args[name], args)
		w.todo = append(w.todo, demand{n, name, d})
	}
}
