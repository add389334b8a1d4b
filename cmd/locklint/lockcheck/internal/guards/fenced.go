package guards

import (
	"go/ast"
	"go/types"

	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/internal/directive"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

// A Fenced stands on a function with a //lock:fenced mark.
type Fenced struct{}

// AFact marks the type.
func (*Fenced) AFact() {}

func (*Fenced) String() string { return "fenced" }

// This file knows what //lock:fenced marks: what writes to a resource that fencing tokens protect. A function, a
// method, one of an interface, or a variable or field that holds a function is such a sink itself; of a type, or of a
// variable or field of another type, the methods are that change something by their names.

// markFenced notes the objects that a mark stands on and tells importers of the functions among them.
func (d *Directives) markFenced(marks []*directive.Mark) {
	for _, m := range marks {
		for _, id := range markedNames(m.Node) {
			obj := d.p.Pass.TypesInfo.Defs[id]
			if obj == nil {
				continue
			}
			d.fenced[obj] = true
			if fn, ok := obj.(*types.Func); ok {
				d.p.Pass.ExportObjectFact(fn, new(Fenced))
				d.p.Carrier = true
			}
		}
	}
}

// markedNames are the names that a node declares.
func markedNames(n ast.Node) []*ast.Ident {
	switch n := n.(type) {
	case *ast.FuncDecl:
		return []*ast.Ident{n.Name}
	case *ast.Field:
		return n.Names
	case *ast.TypeSpec:
		return []*ast.Ident{n.Name}
	case *ast.ValueSpec:
		return n.Names
	case *ast.GenDecl:
		var names []*ast.Ident
		for _, s := range n.Specs {
			names = append(names, markedNames(s)...)
		}
		return names
	}
	return nil
}

// IsFenced reports whether a call is one of a marked sink.
func (d *Directives) IsFenced(c *ssa.CallCommon) bool {
	m, ok := ssax.MethodOf(c)
	if !ok {
		return d.holdsSink(c.Value)
	}
	if d.isFencedFunc(m.Obj) {
		return true
	}
	if c.IsInvoke() {
		if impl := d.p.Implementation(m.Obj); impl != nil && d.isFencedFunc(impl) {
			return true
		}
	}
	if m.Recv == nil || !WriteName.MatchString(m.Obj.Name()) {
		return false
	}
	return d.holdsSink(m.Recv) || d.fenced[ssax.TypeNameOf(m.Recv.Type())]
}

func (d *Directives) isFencedFunc(fn *types.Func) bool {
	fn = fn.Origin()
	return d.fenced[fn] || fn.Pkg() != nil && fn.Pkg() != d.p.Pass.Pkg && d.p.Pass.ImportObjectFact(fn, new(Fenced))
}

// holdsSink reports whether a value is read from a marked variable or field.
func (d *Directives) holdsSink(v ssa.Value) bool {
	load, ok := v.(*ssa.UnOp)
	if !ok {
		return false
	}
	switch addr := ssax.CellOf(load.X).(type) {
	case *ssa.Global:
		return d.fenced[addr.Object()]
	case *ssa.FieldAddr:
		if s, ok := ssax.Elem(addr.X.Type()).Underlying().(*types.Struct); ok {
			return d.fenced[s.Field(addr.Field).Origin()]
		}
	}
	return false
}
