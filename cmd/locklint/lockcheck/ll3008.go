package lockcheck

import (
	"fmt"
	"go/ast"
	"go/types"
	"go/version"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ssa"
)

var ll3008 = newCheck("LL3008", "release uses a context that may be cancelled", Info, true, checkReleaseContexts)

// checkReleaseContexts reports releases with a context that can be over by then: one of a request, one with a timeout
// or a cancel function, or one that a declared function is given. They fail exactly when the work took too long or the
// client went away. A context that was made for the release alone is fine.
func checkReleaseContexts(r *reporter) {
	for _, flow := range r.flows(isPeer) {
		for _, release := range callsOf(flow.releases) {
			_, ok := methodOf(release.Common())
			ctx := contextOf(release.Common())
			if !ok || ctx == nil || handleOf(release.Common()) == nil || r.index.inTest(release.Common().Pos()) {
				continue
			}
			why := cancellable(ctx, 0)
			if why == "" || isMain(flow.fn) {
				continue
			}
			pos, end := r.callSpan(release)
			d := analysis.Diagnostic{
				Pos: pos, End: end,
				Message: fmt.Sprintf("%s is given %s: once that is cancelled the release fails and the lock stays until its "+
					"TTL; release with context.WithoutCancel(ctx)",
					r.callText(release), why),
				Related: []analysis.RelatedInformation{{Pos: flow.site.call.Pos(), Message: "acquired here"}},
			}
			if fix := r.withoutCancel(release); fix != nil {
				d.SuggestedFixes = []analysis.SuggestedFix{*fix}
			}
			r.report(d)
		}
	}
}

// cancellable says in what way a context may be cancelled, "" if it is not or nobody knows.
func cancellable(ctx ssa.Value, depth int) string {
	if depth > maxDepth {
		return ""
	}
	switch ctx := soleValue(ctx).(type) {
	case *ssa.Parameter:
		if ctx.Parent().Parent() == nil && !isMain(ctx.Parent()) {
			return "the caller's context"
		}
	case *ssa.Extract:
		call, ok := ctx.Tuple.(*ssa.Call)
		if !ok {
			return ""
		}
		switch fn := call.Call.StaticCallee(); {
		case fn == nil || fn.Object() == nil:
		case calleeName(fn) == "context.WithTimeout" || calleeName(fn) == "context.WithDeadline":
			if !ownContext(ctx) {
				return "a context with a deadline"
			}
		case calleeName(fn) == "context.WithCancel" || calleeName(fn) == "os/signal.NotifyContext":
			if !ownContext(ctx) {
				return "a context with a cancel function"
			}
		}
	case *ssa.Call:
		m, ok := methodOf(&ctx.Call)
		switch {
		case !ok || m.obj.Pkg() == nil:
		case m.obj.Pkg().Path() == "net/http" && m.obj.Name() == "Context":
			return "the context of a request"
		case m.obj.Pkg().Path() == "context" && m.obj.Name() == "WithValue":
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
			if !isReleaseCall(instr.Common()) {
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
func (r *reporter) withoutCancel(release ssa.CallInstruction) *analysis.SuggestedFix {
	call := r.index.callExpr(release)
	if call == nil || len(call.Args) == 0 {
		return nil
	}
	name := ""
	for _, f := range r.pass.Files {
		if f.FileStart > call.Pos() || call.Pos() >= f.FileEnd {
			continue
		}
		if v := r.pass.TypesInfo.FileVersions[f]; v != "" && version.Compare(v, "go1.21") < 0 {
			return nil
		}
		name = importedAs(f, "context")
	}
	text := string(r.source(call.Args[0]))
	if name == "" || text == "" || r.shadowed(name, call) {
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
func (r *reporter) shadowed(name string, at ast.Node) bool {
	scope := r.pass.Pkg.Scope().Innermost(at.Pos())
	if scope == nil {
		return true
	}
	_, obj := scope.LookupParent(name, at.Pos())
	_, isPkg := obj.(*types.PkgName)
	return !isPkg
}
