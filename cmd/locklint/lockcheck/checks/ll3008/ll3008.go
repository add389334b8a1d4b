// Package ll3008 is the check LL3008; see doc.md.
package ll3008

import (
	_ "embed"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"go/version"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/check"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/clients"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/handles"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

//go:embed doc.md
var page string

// Check is LL3008.
var Check = check.New(check.Spec{Page: page, Severity: check.Info, Fixable: true, Run: checkReleaseContexts})

// checkReleaseContexts reports releases with a context that can be over by then: one of a request, one with a timeout
// or a cancel function, or one that a declared function is given. They fail exactly when the work took too long or the
// client went away. A context that was made for the release alone is fine.
func checkReleaseContexts(r *check.Reporter) {
	for _, flow := range r.Flows(clients.IsPeer) {
		for _, release := range ssax.CallsOf(flow.Releases) {
			c := release.Common()
			if r.Index.Leases.HandleOf(c) != nil && r.Index.Leases.PassesContext(c) {
				reportContext(r, release, flow.Site.Call.Pos(), true)
			}
		}
	}
	for _, l := range r.Index.Locks {
		del := l.Release
		if l.Acquire.Fn == del.Fn && del.Via == "" && l.Acquire.Via == "" && r.Index.Expires(l.Acquire) {
			reportContext(r, del.Call, l.Acquire.Pos(), false)
		}
	}
}

// reportContext reports a release whose context may be cancelled. For a lock by hand, which mostly has worse faults,
// that of the caller does not count: nobody knows whether it can end.
func reportContext(r *check.Reporter, release ssa.CallInstruction, acquire token.Pos, callers bool) {
	ctx := ssax.ContextOf(release.Common())
	if ctx == nil || r.Index.InTest(release.Common().Pos()) || ssax.IsMain(release.Parent()) {
		return
	}
	why := cancellable(ctx, 0)
	if why == "" || why == callersContext && !callers {
		return
	}
	pos, end := r.CallSpan(release)
	d := analysis.Diagnostic{
		Pos: pos, End: end,
		Message: fmt.Sprintf("%s is given %s: once that is cancelled the release fails and the lock stays until its TTL; "+
			"release with context.WithoutCancel(ctx)", r.CallText(release), why),
		Related: []analysis.RelatedInformation{{Pos: acquire, Message: "acquired here"}},
	}
	if fix := withoutCancel(r, release); fix != nil {
		d.SuggestedFixes = []analysis.SuggestedFix{*fix}
	}
	r.ReportOnce(d)
}

const callersContext = "the caller's context"

// cancellable says in what way a context may be cancelled, "" if it is not or nobody knows.
func cancellable(ctx ssa.Value, depth int) string {
	if depth > ssax.MaxDepth {
		return ""
	}
	switch ctx := ssax.SoleValue(ctx).(type) {
	case *ssa.Parameter:
		if ctx.Parent().Parent() == nil && !ssax.IsMain(ctx.Parent()) {
			return callersContext
		}
	case *ssa.Extract:
		call, ok := ctx.Tuple.(*ssa.Call)
		if !ok {
			return ""
		}
		switch fn := call.Call.StaticCallee(); {
		case fn == nil || fn.Object() == nil:
		case ssax.CalleeName(fn) == "context.WithTimeout" || ssax.CalleeName(fn) == "context.WithDeadline":
			if !ownContext(ctx) {
				return "a context with a deadline"
			}
		case ssax.CalleeName(fn) == "context.WithCancel" || ssax.CalleeName(fn) == "os/signal.NotifyContext":
			if !ownContext(ctx) {
				return "a context with a cancel function"
			}
		}
	case *ssa.Call:
		m, ok := ssax.MethodOf(&ctx.Call)
		switch {
		case !ok || m.Obj.Pkg() == nil:
		case m.Obj.Pkg().Path() == "net/http" && m.Obj.Name() == "Context":
			return "the context of a request"
		case m.Obj.Pkg().Path() == "context" && m.Obj.Name() == "WithValue":
			return cancellable(ctx.Call.Args[0], depth+1)
		}
	}
	return ""
}

// ownContext reports whether a context is used for releases alone.
func ownContext(ctx *ssa.Extract) bool {
	for _, instr := range *ctx.Referrers() {
		switch instr := instr.(type) {
		case ssa.CallInstruction:
			if !handles.IsReleaseCall(instr.Common()) {
				return false
			}
		case *ssa.DebugRef:
		default:
			return false
		}
	}
	return true
}

// withoutCancel wraps the context of a release, where the file imports package context and its Go has WithoutCancel.
func withoutCancel(r *check.Reporter, release ssa.CallInstruction) *analysis.SuggestedFix {
	call := r.Index.CallExpr(release)
	if call == nil || len(call.Args) == 0 {
		return nil
	}
	name := ""
	for _, f := range r.Pass.Files {
		if f.FileStart > call.Pos() || call.Pos() >= f.FileEnd {
			continue
		}
		if v := r.Pass.TypesInfo.FileVersions[f]; v != "" && version.Compare(v, "go1.21") < 0 {
			return nil
		}
		name = importedAs(f, "context")
	}
	text := string(r.Source(call.Args[0]))
	if name == "" || text == "" || shadowed(r, name, call) {
		return nil
	}
	return &analysis.SuggestedFix{
		Message: "release with a context that is not cancelled",
		TextEdits: []analysis.TextEdit{{
			Pos: call.Args[0].Pos(), End: call.Args[0].End(), NewText: fmt.Appendf(nil, "%s.WithoutCancel(%s)", name, text),
		}},
	}
}

// importedAs is the name under which a file uses a package of the standard library, "" if it does not import it.
func importedAs(f *ast.File, path string) string {
	for _, spec := range f.Imports {
		if spec.Path.Value == `"`+path+`"` {
			switch {
			case spec.Name == nil:
				return path
			case spec.Name.Name != "_" && spec.Name.Name != ".":
				return spec.Name.Name
			}
		}
	}
	return ""
}

// shadowed reports whether a package's name means something else at a place.
func shadowed(r *check.Reporter, name string, at ast.Node) bool {
	scope := r.Pass.Pkg.Scope().Innermost(at.Pos())
	if scope == nil {
		return true
	}
	_, obj := scope.LookupParent(name, at.Pos())
	_, isPkg := obj.(*types.PkgName)
	return !isPkg
}
