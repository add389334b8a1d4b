// Package ll1003 is the check LL1003; see doc.md.
package ll1003

import (
	_ "embed"
	"fmt"
	"go/ast"
	"go/types"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/types/typeutil"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/check"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/clients"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/handles"
)

//go:embed doc.md
var page string

// Check is LL1003.
var Check = check.New(check.Spec{Page: page, Severity: check.Error, Fixable: true, Run: checkDirectCalls})

// checkDirectCalls reports calls of functions with a //lock: directive that are not made by somebody who may hold the
// lock: lockgen's own files, the wrapper (which may be written by hand), and functions that mayHold says. Tests may
// call the body to test it without the lock. A function that is only mentioned, not called, is left alone.
func checkDirectCalls(r *check.Reporter) {
	for _, file := range r.Pass.Files {
		if r.IsOutput(file) || r.Index.InTest(file.Package) {
			continue
		}
		for _, decl := range file.Decls {
			var caller *types.Func
			if fd, ok := decl.(*ast.FuncDecl); ok {
				caller, _ = r.Pass.TypesInfo.Defs[fd.Name].(*types.Func)
			}
			directCalls(r, decl, caller)
		}
	}
}

// directCalls looks at the calls of one declaration; caller is nil for variables.
func directCalls(r *check.Reporter, decl ast.Decl, caller *types.Func) {
	if mayHold(r, decl, caller) {
		return
	}
	ast.Inspect(decl, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		fn := typeutil.StaticCallee(r.Pass.TypesInfo, call)
		if fn == nil {
			return true
		}
		wrapper := r.Index.WrapperFor(fn)
		if wrapper == "" || caller != nil && caller.Name() == wrapper {
			return true
		}
		d := analysis.Diagnostic{
			Pos: call.Pos(), End: call.End(),
			Message: fmt.Sprintf("%s relies on its lock, which only its wrapper %s takes: call %s", fn.Name(), wrapper,
				wrapper),
		}
		if fix := callWrapper(r, call, fn, wrapper); fix != nil {
			d.SuggestedFixes = []analysis.SuggestedFix{*fix}
		}
		if g := r.Index.Guarded[fn.Origin()]; g != nil {
			d.Related = []analysis.RelatedInformation{{Pos: g.Decl.Name.Pos(),
				Message: "the directive stands on this function"}}
		}
		r.Report(d)
		return true
	})
}

// mayHold reports whether a declaration may hold the lock when it calls: its name ends in Locked, which in Go says that
// its caller holds the lock; it has a directive of its own, or is given a lease or a fence; or it takes some lock
// itself, be it the same. Which key a lock has is only known at run time, so any will do.
func mayHold(r *check.Reporter, decl ast.Decl, caller *types.Func) bool {
	if caller != nil {
		if r.Index.Guarded[caller] != nil || strings.HasSuffix(caller.Name(), "Locked") {
			return true
		}
		for p := range caller.Signature().Params().Variables() {
			if handles.IsLease(p.Type()) || clients.Named(p.Type(), clients.Runtime) == "Fence" {
				return true
			}
		}
	}
	holds := false
	ast.Inspect(decl, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			holds = holds || takesLock(r, n)
		case *ast.CompositeLit: // a job written by hand: the scheduler holds its keys
			t, ok := types.Unalias(r.Pass.TypesInfo.TypeOf(n)).(*types.Named)
			holds = holds || ok && t.Obj().Name() == "Job" && t.Obj().Pkg() != nil &&
				clients.WithoutVendor(t.Obj().Pkg().Path()) == clients.JobsPath
		}
		return !holds
	})
	return holds
}

// takesLock reports whether a call is one of the runtime's ways to get a lock.
func takesLock(r *check.Reporter, call *ast.CallExpr) bool {
	fn := typeutil.StaticCallee(r.Pass.TypesInfo, call)
	if fn != nil && clients.IsDoTx(fn) {
		return true
	}
	if fn == nil || clients.OfPackage(fn.Pkg()) != clients.Runtime {
		return false
	}
	switch fn.Name() {
	case "Acquire", "TryAcquire", "AcquireAll", "Do", "DoAll":
		return true
	}
	return false
}

// callWrapper puts the wrapper's name in the call, if the wrapper exists and takes and returns just the same.
func callWrapper(r *check.Reporter, call *ast.CallExpr, fn *types.Func, wrapper string) *analysis.SuggestedFix {
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
