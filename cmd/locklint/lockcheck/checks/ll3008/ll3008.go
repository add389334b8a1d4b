// Package ll3008 is the check LL3008; see doc.md.
package ll3008

import (
	_ "embed"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"go/version"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/check"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/clients"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/handles"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/leases"
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
	reportOver(r)
	for _, flow := range r.Flows(isLibrary) {
		for _, release := range ssax.CallsOf(flow.Releases) {
			c := release.Common()
			if r.Index.Leases.HandleOf(c) != nil && r.Index.Leases.PassesContext(c) || handsOnContext(r, c) ||
				!c.IsInvoke() && flow.Site.Has(ssax.SoleValue(c.Value)) && !flow.Site.Detached && contextGiven(c) != nil {
				reportContext(r, release, flow.Site.Call.Pos(), anybody)
			}
		}
	}
	for _, flow := range r.AllFlows(isLibrary) {
		for _, release := range inLiterals(r, flow) {
			if p, ok := ssax.SoleValue(ssax.ContextOf(release.Common())).(*ssa.Parameter); ok && p.Parent() == release.Parent() {
				continue // whoever runs the literal decides
			}
			reportContext(r, release, flow.Site.Call.Pos(), anybody)
		}
	}
	reportSeveral(r)
	reportElsewhere(r)
	reportByHand(r)
}

// isLibrary leaves locks by hand to reportByHand.
func isLibrary(c clients.Client) bool { return clients.IsPeer(c) && c != clients.ByHand }

// inLiterals are the releases of a lease in goroutines that the function starts which acquires it, and in literals
// that it hands to its caller.
func inLiterals(r *check.Reporter, flow *leases.Flow) (releases []ssa.CallInstruction) {
	for _, lit := range flow.Fn.AnonFuncs {
		if ssax.StartedBy(lit) == nil && !ssax.IsReturned(lit) && !isKept(lit) {
			continue
		}
		ssax.EachCall(lit, func(call ssa.CallInstruction) {
			c := call.Common()
			handle := r.Index.Leases.HandleOf(c)
			if handle != nil && flow.Site.Has(ssax.SoleValue(handle)) && r.Index.Leases.PassesContext(c) &&
				r.Index.Leases.VerbOf(c, handle) == handles.VerbRelease {
				releases = append(releases, call)
			}
		})
	}
	return releases
}

// isKept reports whether a literal is put into a field of an object, for whoever has that to run.
func isKept(lit *ssa.Function) bool {
	for _, use := range *lit.Referrers() {
		mc, ok := use.(*ssa.MakeClosure)
		if !ok {
			continue
		}
		for _, use := range *mc.Referrers() {
			if st, ok := use.(*ssa.Store); ok && st.Val == ssa.Value(mc) {
				if _, ok := st.Addr.(*ssa.FieldAddr); ok {
					return true
				}
			}
		}
	}
	return false
}

// handsOnContext reports whether a release is the call of a function that releases with the context that it is given.
func handsOnContext(r *check.Reporter, c *ssa.CallCommon) bool {
	fn := c.StaticCallee()
	return fn != nil && r.Index.Leases.HandleOf(c) == nil && r.Index.Leases.FactOf(fn).HandsOn
}

// reportContext reports a release whose context may be cancelled. For a lock by hand, which mostly has worse faults,
// that of the caller does not count by itself: what callers in this package hand in does.
func reportContext(r *check.Reporter, release ssa.CallInstruction, acquire token.Pos, given callers) {
	ctx := contextGiven(release.Common())
	if ctx == nil || r.Index.InTest(release.Common().Pos()) || ssax.IsMain(release.Parent()) {
		return
	}
	why := cancellable(ctx, release, 0)
	all := given == anybody || given == alsoElsewhere && calledElsewhere(r, ssax.Outermost(release.Parent()))
	if why == callersContext && !all {
		why = handedIn(r, ctx, given, 0)
	}
	if why == callersContext && given == anybody && onlyEndless(r, ctx, 0) {
		why = ""
	}
	if why == "" {
		why = stoppedContext(r, ctx)
	}
	if why == "" && all {
		why = keptContext(r, ctx)
	}
	if why == "" {
		return
	}
	release = deferredWithin(r, release)
	if leftToExpiry(r, release) {
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

// cancellable says in what way the context of a release may be cancelled, "" if it is not or nobody knows.
func cancellable(ctx ssa.Value, release ssa.CallInstruction, depth int) string {
	if depth > ssax.MaxDepth {
		return ""
	}
	switch ctx := ssax.SoleValue(ctx).(type) {
	case *ssa.UnOp:
		return alwaysCancellable(ctx, release, depth)
	case *ssa.Parameter:
		if given := givenTo(ctx); given != nil {
			return cancellable(given, release, depth+1)
		}
		if lit := ctx.Parent(); (lit.Parent() == nil || ssax.RunnerOf(lit) == nil) && !ssax.IsMain(lit) {
			return callersContext
		}
	case *ssa.Extract:
		call, ok := ctx.Tuple.(*ssa.Call)
		if !ok {
			return ""
		}
		if parent := spannedFrom(ctx); parent != nil {
			return cancellable(parent, release, depth+1)
		}
		switch fn := call.Call.StaticCallee(); {
		case fn == nil || fn.Object() == nil:
		case ssax.CalleeName(fn) == "context.WithTimeout" || ssax.CalleeName(fn) == "context.WithDeadline":
			if !ownContext(ctx, release) {
				return "a context with a deadline"
			}
		case ssax.CalleeName(fn) == "context.WithCancel" && cancelledLater(ctx, call, release):
		case ssax.CalleeName(fn) == "context.WithCancel" || ssax.CalleeName(fn) == "os/signal.NotifyContext":
			if !ownContext(ctx, release) {
				return "a context with a cancel function"
			}
		case ssax.CalleeName(fn) == "golang.org/x/sync/errgroup.WithContext" && ctx.Index == 1:
			if !ownContext(ctx, release) {
				return "the context of an errgroup"
			}
		}
	case *ssa.Call:
		m, ok := ssax.MethodOf(&ctx.Call)
		switch {
		case !ok || m.Obj.Pkg() == nil:
		case m.Obj.Pkg().Path() == "net/http" && m.Obj.Name() == "Context":
			return "the context of a request"
		case m.Obj.Pkg().Path() == "google.golang.org/grpc" && m.Obj.Name() == "Context":
			return "the context of a request"
		}
		if !ok || m.Obj.Pkg() == nil {
			return ""
		}
		if parent := derivedFrom(ctx, m); parent != nil {
			return cancellable(parent, release, depth+1)
		}
	}
	return ""
}

// alwaysCancellable is cancellable for a variable that is set several times: what it is set to before must be, or if
// that cannot be told, all that it is set to.
func alwaysCancellable(load *ssa.UnOp, release ssa.CallInstruction, depth int) string {
	cell, ok := ssax.CellOf(load.X).(*ssa.Alloc)
	if !ok {
		return ""
	}
	if stored, ok := ssax.StoredBefore(cell, load); ok {
		return cancellable(stored, release, depth+1)
	}
	why := ""
	known := ssax.EachCellUse(cell, func(instr ssa.Instruction, addr ssa.Value) bool {
		st, ok := instr.(*ssa.Store)
		if !ok {
			return true
		}
		if ex, ok := st.Val.(*ssa.Extract); ok && isLoadOf(spannedFrom(ex), cell) {
			return true // says nothing else than what it is made of
		}
		of := cancellable(st.Val, release, depth+1)
		if why == "" || why == callersContext {
			why = of
		}
		return of != "" && st.Addr == addr
	})
	if !known {
		return ""
	}
	return why
}

// spannedFrom is the context to which a tracer has added the span that it has started, nil for other contexts.
func spannedFrom(ctx *ssa.Extract) ssa.Value {
	call, ok := ctx.Tuple.(*ssa.Call)
	results := ctx.Tuple.Type().(*types.Tuple)
	if !ok || results.Len() != 2 {
		return nil
	}
	for t := range results.Variables() {
		span := t.Type()
		if p, ok := types.Unalias(span).(*types.Pointer); ok {
			span = p.Elem()
		}
		if n, ok := types.Unalias(span).(*types.Named); ok && strings.HasSuffix(strings.ToLower(n.Obj().Name()), "span") {
			return ssax.ContextOf(&call.Call)
		}
	}
	return nil
}

// isLoadOf reports whether a value is what a variable holds.
func isLoadOf(v ssa.Value, cell *ssa.Alloc) bool {
	load, ok := v.(*ssa.UnOp)
	return ok && ssax.CellOf(load.X) == ssa.Value(cell)
}

// ownContext reports whether a context is used for releases alone.
func ownContext(ctx *ssa.Extract, release ssa.CallInstruction) bool {
	for _, instr := range *ctx.Referrers() {
		switch instr := instr.(type) {
		case ssa.CallInstruction:
			if instr != release && !handles.IsReleaseCall(instr.Common()) {
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
