package ll1010

import (
	"fmt"
	"go/token"
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/check"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/fences"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/guards"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/keyexpr"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/rediscmd"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/sections"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

// This file finds the resources that a package guards with fences: the tables that are written in functions that call
// fence.SQL's Guard, and the keys that redisfence.Redis writes. Writing them elsewhere under a lock without a fence is what
// the guard cannot see.

// resources are what the package guards, each with a place where it does.
type resources struct {
	r      *check.Reporter
	use    *fenceUse
	tables map[string]token.Pos
	keys   map[string]token.Pos // by shape
}

// guardedResources collects them, nil if there are none.
func guardedResources(r *check.Reporter, use *fenceUse) *resources {
	if !slices.ContainsFunc(r.Pass.Pkg.Imports(), fences.IsPath) {
		return nil
	}
	g := &resources{r, use, map[string]token.Pos{}, map[string]token.Pos{}}
	for _, fn := range r.Index.Funcs {
		if fn.Parent() != nil || r.Index.InTest(fn.Pos()) {
			continue
		}
		guard := g.guardIn(fn)
		if !guard.IsValid() {
			continue
		}
		for _, table := range fences.TablesOf(fn) {
			g.tables[table] = guard
		}
	}
	if len(g.tables)+len(g.keys) == 0 {
		return nil
	}
	return g
}

// guardIn is where a function guards a transaction, itself or through a function that does nothing else.
func (g *resources) guardIn(fn *ssa.Function) token.Pos {
	guard := token.NoPos
	ssax.EachCall(fn, func(call ssa.CallInstruction) {
		if fences.GuardsTx(call.Common()) {
			guard = call.Common().Pos()
			return
		}
		if m, ok := ssax.MethodOf(call.Common()); ok && fences.Writes(call.Common()) {
			g.addKeys(m, call.Common().Pos())
		}
		callee := call.Common().StaticCallee()
		if callee == nil || callee.Pkg != g.r.Index.Pkg || callee == fn || len(fences.TablesOf(callee)) > 0 {
			return
		}
		ssax.EachCall(callee, func(inner ssa.CallInstruction) {
			if fences.GuardsTx(inner.Common()) {
				guard = call.Common().Pos()
			}
		})
	})
	return guard
}

// addKeys notes the keys of redisfence.Redis's Do(ctx, resource, fence, command, key, …) and Run(…, script, keys, …).
func (g *resources) addKeys(m ssax.Method, at token.Pos) {
	var keys []ssa.Value
	if m.Obj.Name() == "Do" {
		if args := m.Rest(2); len(args) > 1 {
			keys = args[1:2]
		}
	} else if list, ok := ssax.Variadic(m.Arg(3)); m.Arg(3) != nil && ok {
		keys = list
	}
	for _, v := range keys {
		if k := keyexpr.Of(v); k.Known() && k.Distinctive() {
			g.keys[k.Shape()] = at
		}
	}
}

// fault says that a call writes without a fence what others guard, "" if it does not. A function that guards
// some transaction is left alone.
func (g *resources) fault(s *sections.Section, call ssa.CallInstruction) string {
	if g == nil {
		return ""
	}
	what, at := g.written(call.Common())
	if what == "" {
		return ""
	}
	if g.use.guarding(ssax.Outermost(s.Fn)) {
		return ""
	}
	m, ok := ssax.MethodOf(call.Common())
	if !ok || slices.ContainsFunc(m.Args, func(a ssa.Value) bool { return mayCarryFence(s, a, 0) }) {
		return ""
	}
	return fmt.Sprintf("without its fence, by which the %s is guarded at %s", what, g.r.Place(at, call.Common().Pos()))
}

// written names the guarded resource that a call writes to, "" if there is none.
func (g *resources) written(c *ssa.CallCommon) (what string, at token.Pos) {
	for _, table := range fences.WrittenTables(c, g.r.Index.Pkg) {
		if at, ok := g.tables[table]; ok {
			return "table " + table, at
		}
	}
	m, ok := ssax.MethodOf(c)
	if !ok || m.Recv == nil || !rediscmd.IsGoRedis(m) || !guards.WriteName.MatchString(m.Obj.Name()) || m.Arg(0) == nil {
		return "", token.NoPos
	}
	k := keyexpr.Of(m.Arg(0))
	if at, ok := g.keys[k.Shape()]; ok && k.Known() {
		return "key " + k.Quoted(), at
	}
	return "", token.NoPos
}
