package lockcheck

import (
	"go/ast"
	"go/types"
	"slices"
	"strings"

	"github.com/lockgen/lockgen/cmd/internal/directive"
	"golang.org/x/tools/go/ssa"
)

// This file knows what //lock:fenced marks: what writes to a resource that fencing tokens protect. A function, a
// method, one of an interface, or a variable or field that holds a function is such a sink itself; of a type, or of a
// variable or field of another type, the methods are that change something by their names.

// markFenced notes the objects that a mark stands on and tells importers of the functions among them.
func (d *directives) markFenced(marks []*directive.Mark) {
	for _, m := range marks {
		for _, id := range markedNames(m.Node) {
			obj := d.p.pass.TypesInfo.Defs[id]
			if obj == nil {
				continue
			}
			d.fenced[obj] = true
			if fn, ok := obj.(*types.Func); ok {
				d.p.pass.ExportObjectFact(fn, new(fencedFact))
				d.p.carrier = true
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

// isFenced reports whether a call is one of a marked sink.
func (d *directives) isFenced(c *ssa.CallCommon) bool {
	m, ok := methodOf(c)
	if !ok {
		return d.holdsSink(c.Value)
	}
	if d.isFencedFunc(m.obj) {
		return true
	}
	if c.IsInvoke() {
		if impl := d.p.implementation(m.obj); impl != nil && d.isFencedFunc(impl) {
			return true
		}
	}
	if m.recv == nil || !writeName.MatchString(m.obj.Name()) {
		return false
	}
	return d.holdsSink(m.recv) || d.fenced[typeNameOf(m.recv.Type())]
}

func (d *directives) isFencedFunc(fn *types.Func) bool {
	fn = fn.Origin()
	return d.fenced[fn] || fn.Pkg() != nil && fn.Pkg() != d.p.pass.Pkg && d.p.pass.ImportObjectFact(fn, new(fencedFact))
}

// holdsSink reports whether a value is read from a marked variable or field.
func (d *directives) holdsSink(v ssa.Value) bool {
	load, ok := v.(*ssa.UnOp)
	if !ok {
		return false
	}
	switch addr := cellOf(load.X).(type) {
	case *ssa.Global:
		return d.fenced[addr.Object()]
	case *ssa.FieldAddr:
		if s, ok := elem(addr.X.Type()).Underlying().(*types.Struct); ok {
			return d.fenced[s.Field(addr.Field).Origin()]
		}
	}
	return false
}

// typeNameOf is the declaration of the type that t is or points to, nil if it has none.
func typeNameOf(t types.Type) types.Object {
	if p, ok := types.Unalias(t).(*types.Pointer); ok {
		t = p.Elem()
	}
	if n, ok := types.Unalias(t).(*types.Named); ok {
		return n.Origin().Obj()
	}
	return nil
}

// fencePath is the import path of the package that enforces fences.
const fencePath = directive.RuntimePath + "/fence"

// isFenceCall reports whether a call is one of this project's package that enforces fences.
func isFenceCall(c *ssa.CallCommon) bool {
	m, ok := methodOf(c)
	return ok && m.obj.Pkg() != nil && withoutVendor(m.obj.Pkg().Path()) == fencePath
}

// A fenceUse answers how functions of the package deal with fences. Every answer is computed once.
type fenceUse struct {
	ix     *index
	guards map[*ssa.Function]bool
	reads  map[*ssa.Function]bool
}

func (ix *index) newFenceUse() *fenceUse {
	return &fenceUse{ix, map[*ssa.Function]bool{}, map[*ssa.Function]bool{}}
}

// guarding reports whether a function guards a transaction, itself or in what it calls: that covers all that it writes.
func (u *fenceUse) guarding(fn *ssa.Function) bool {
	if known, ok := u.guards[fn]; ok {
		return known
	}
	u.guards[fn] = false // recursion by itself guards nothing
	found := false
	eachCall(fn, func(call ssa.CallInstruction) { found = found || u.isGuard(call.Common()) })
	u.guards[fn] = found
	return found
}

// isGuard reports whether a call is a guard: this project's, or anything that is given a fence, or the lease, and a
// transaction.
func (u *fenceUse) isGuard(c *ssa.CallCommon) bool {
	if guardsTx(c) {
		return true
	}
	fenced, tx := false, false
	for _, a := range c.Args {
		t := a.Type()
		fenced = fenced || namedIn(t, lockRuntime) == "Fence" || isLease(t)
		tx = tx || isTx(t)
	}
	fn := c.StaticCallee()
	return fenced && tx || fn != nil && fn.Pkg == u.ix.pkg && u.guarding(fn)
}

// guardsTx reports whether a call is fence.SQL's Guard or GuardLease.
func guardsTx(c *ssa.CallCommon) bool {
	m, ok := methodOf(c)
	return ok && isFenceCall(c) && (m.obj.Name() == "Guard" || m.obj.Name() == "GuardLease")
}

// readsContext reports whether what is called may take the fence from its context. Who lives outside of the package
// may, but not the standard library and the clients.
func (u *fenceUse) readsContext(c *ssa.CallCommon) bool {
	m, ok := methodOf(c)
	if !ok || c.IsInvoke() {
		return true
	}
	if fn := c.StaticCallee(); fn != nil && fn.Pkg == u.ix.pkg && len(fn.Blocks) > 0 {
		if known, ok := u.reads[fn]; ok {
			return known
		}
		u.reads[fn] = false
		found := false
		eachCall(fn, func(call ssa.CallInstruction) {
			found = found || takesAnyContext(call.Common()) && u.readsContext(call.Common())
		})
		u.reads[fn] = found
		return found
	}
	if m.obj.Pkg() == nil {
		return false
	}
	path := withoutVendor(m.obj.Pkg().Path())
	first, _, _ := strings.Cut(path, "/")
	switch client := clientOf(path); {
	case client == lockRuntime:
		return m.obj.Name() == "FromContext" || m.obj.Name() == "Held"
	case client != notClient:
		return false
	}
	return strings.Contains(first, ".")
}

// takesAnyContext reports whether some argument of a call is a context.
func takesAnyContext(c *ssa.CallCommon) bool {
	return slices.ContainsFunc(c.Args, func(a ssa.Value) bool { return isContext(a.Type()) })
}
