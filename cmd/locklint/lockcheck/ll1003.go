package lockcheck

import (
	"fmt"
	"go/ast"
	"go/types"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/types/typeutil"
)

var ll1003 = newCheck("LL1003", "guarded function called directly, past its wrapper", Error, true, checkDirectCalls)

// checkDirectCalls reports calls of functions with a //lock: directive that are not made by somebody who may hold the
// lock: lockgen's own files, the wrapper (which may be written by hand), and functions that mayHold says. Tests may
// call the body to test it without the lock. A function that is only mentioned, not called, is left alone.
func checkDirectCalls(r *reporter) {
	for _, file := range r.pass.Files {
		if r.isOutput(file) || r.index.inTest(file.Package) {
			continue
		}
		for _, decl := range file.Decls {
			var caller *types.Func
			if fd, ok := decl.(*ast.FuncDecl); ok {
				caller, _ = r.pass.TypesInfo.Defs[fd.Name].(*types.Func)
			}
			r.directCalls(decl, caller)
		}
	}
}

// directCalls looks at the calls of one declaration; caller is nil for variables.
func (r *reporter) directCalls(decl ast.Decl, caller *types.Func) {
	if r.mayHold(decl, caller) {
		return
	}
	ast.Inspect(decl, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		fn := typeutil.StaticCallee(r.pass.TypesInfo, call)
		if fn == nil {
			return true
		}
		wrapper := r.index.wrapperFor(fn)
		if wrapper == "" || caller != nil && caller.Name() == wrapper {
			return true
		}
		d := analysis.Diagnostic{
			Pos: call.Pos(), End: call.End(),
			Message: fmt.Sprintf("%s relies on its lock, which only its wrapper %s takes: call %s", fn.Name(), wrapper, wrapper),
		}
		if fix := r.callWrapper(call, fn, wrapper); fix != nil {
			d.SuggestedFixes = []analysis.SuggestedFix{*fix}
		}
		if g := r.index.guarded[fn.Origin()]; g != nil {
			d.Related = []analysis.RelatedInformation{{Pos: g.decl.Name.Pos(), Message: "the directive stands on this function"}}
		}
		r.report(d)
		return true
	})
}

// mayHold reports whether a declaration may hold the lock when it calls: its name ends in Locked, which in Go says that
// its caller holds the lock; it has a directive of its own, or is given a lease or a fence; or it takes some lock
// itself, be it the same. Which key a lock has is only known at run time, so any will do.
func (r *reporter) mayHold(decl ast.Decl, caller *types.Func) bool {
	if caller != nil {
		if r.index.guarded[caller] != nil || strings.HasSuffix(caller.Name(), "Locked") {
			return true
		}
		for p := range caller.Signature().Params().Variables() {
			if isLease(p.Type()) || namedIn(p.Type(), lockRuntime) == "Fence" {
				return true
			}
		}
	}
	holds := false
	ast.Inspect(decl, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			holds = holds || r.takesLock(n)
		case *ast.CompositeLit: // a job written by hand: the scheduler holds its keys
			t, ok := types.Unalias(r.pass.TypesInfo.TypeOf(n)).(*types.Named)
			holds = holds || ok && t.Obj().Name() == "Job" && t.Obj().Pkg() != nil &&
				withoutVendor(t.Obj().Pkg().Path()) == jobsPath
		}
		return !holds
	})
	return holds
}

// jobsPath is the import path of the scheduler.
const jobsPath = "github.com/lockgen/lockgen/jobs"

// takesLock reports whether a call is one of the runtime's ways to get a lock.
func (r *reporter) takesLock(call *ast.CallExpr) bool {
	fn := typeutil.StaticCallee(r.pass.TypesInfo, call)
	if fn == nil || clientOfPackage(fn.Pkg()) != lockRuntime {
		return false
	}
	switch fn.Name() {
	case "Acquire", "TryAcquire", "AcquireAll", "Do", "DoAll":
		return true
	}
	return false
}

// callWrapper puts the wrapper's name in the call, if the wrapper exists and takes and returns just the same.
func (r *reporter) callWrapper(call *ast.CallExpr, fn *types.Func, wrapper string) *analysis.SuggestedFix {
	var name *ast.Ident
	switch fun := ast.Unparen(call.Fun).(type) {
	case *ast.Ident:
		name = fun
	case *ast.SelectorExpr:
		name = fun.Sel
	default:
		return nil
	}
	var found types.Object
	if recv := fn.Signature().Recv(); recv != nil {
		found, _, _ = types.LookupFieldOrMethod(recv.Type(), true, fn.Pkg(), wrapper)
	} else {
		found = fn.Pkg().Scope().Lookup(wrapper)
	}
	w, ok := found.(*types.Func)
	if !ok || !sameSignature(w.Signature(), fn.Signature()) {
		return nil
	}
	return &analysis.SuggestedFix{
		Message:   "call " + wrapper,
		TextEdits: []analysis.TextEdit{{Pos: name.Pos(), End: name.End(), NewText: []byte(wrapper)}},
	}
}

// sameSignature compares two signatures without their receivers.
func sameSignature(a, b *types.Signature) bool {
	return a.TypeParams().Len() == 0 && b.TypeParams().Len() == 0 && a.Variadic() == b.Variadic() &&
		types.Identical(a.Params(), b.Params()) && types.Identical(a.Results(), b.Results())
}
