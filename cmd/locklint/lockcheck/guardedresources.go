package lockcheck

import (
	"fmt"
	"go/token"
	"go/types"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/tools/go/ssa"
)

// This file finds the resources that a package guards with fences: the tables that are written in functions that call
// fence.SQL's Guard, and the keys that fence.Redis writes. Writing them elsewhere under a lock without a fence is what
// the guard cannot see.

// resources are what the package guards, each with a place where it does.
type resources struct {
	r      *reporter
	use    *fenceUse
	tables map[string]token.Pos
	keys   map[string]token.Pos // by shape
}

// guardedResources collects them, nil if there are none.
func (r *reporter) guardedResources(use *fenceUse) *resources {
	if !slices.ContainsFunc(r.pass.Pkg.Imports(),
		func(p *types.Package) bool { return withoutVendor(p.Path()) == fencePath }) {
		return nil
	}
	g := &resources{r, use, map[string]token.Pos{}, map[string]token.Pos{}}
	for _, fn := range r.index.funcs {
		if fn.Parent() != nil || r.index.inTest(fn.Pos()) {
			continue
		}
		guard := g.guardIn(fn)
		if !guard.IsValid() {
			continue
		}
		for _, table := range g.tablesOf(fn, 0) {
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
	eachCall(fn, func(call ssa.CallInstruction) {
		if guardsTx(call.Common()) {
			guard = call.Common().Pos()
			return
		}
		if m, ok := methodOf(call.Common()); ok && isFenceCall(call.Common()) &&
			(m.obj.Name() == "Do" || m.obj.Name() == "Run") {
			g.addKeys(m, call.Common().Pos())
		}
		callee := call.Common().StaticCallee()
		if callee == nil || callee.Pkg != g.r.index.pkg || callee == fn || len(g.tablesOf(callee, 0)) > 0 {
			return
		}
		eachCall(callee, func(inner ssa.CallInstruction) {
			if guardsTx(inner.Common()) {
				guard = call.Common().Pos()
			}
		})
	})
	return guard
}

// tablesOf are the tables that a function writes, itself or in what it calls.
func (g *resources) tablesOf(fn *ssa.Function, depth int) []string {
	var list []string
	eachCall(fn, func(call ssa.CallInstruction) { list = append(list, g.tablesOfCall(call.Common(), depth)...) })
	return list
}

// tablesOfCall are the tables that a call writes.
func (g *resources) tablesOfCall(c *ssa.CallCommon, depth int) []string {
	if table := writtenTable(c); table != "" {
		return []string{table}
	}
	callee := c.StaticCallee()
	if callee == nil || callee.Pkg != g.r.index.pkg || callee.Parent() != nil || depth == 2 {
		return nil
	}
	return g.tablesOf(callee, depth+1)
}

// addKeys notes the keys of fence.Redis's Do(ctx, resource, fence, command, key, …) and Run(…, script, keys, …).
func (g *resources) addKeys(m method, at token.Pos) {
	var keys []ssa.Value
	if m.obj.Name() == "Do" {
		if args := m.rest(2); len(args) > 1 {
			keys = args[1:2]
		}
	} else if list, ok := variadic(m.arg(3)); m.arg(3) != nil && ok {
		keys = list
	}
	for _, v := range keys {
		if k := keyOf(v); k.known() && k.distinctive() {
			g.keys[k.shape()] = at
		}
	}
}

var writtenTableName = regexp.MustCompile("(?is)^\\s*(?:INSERT\\s+(?:OR\\s+\\w+\\s+)?INTO|UPDATE|DELETE\\s+FROM|REPLACE\\s+INTO|MERGE\\s+INTO)\\s+[\"`\\[]?([\\w.]+)")

// writtenTable is the table that a call of Exec, or of what else takes SQL as a constant, writes to. "" for others.
func writtenTable(c *ssa.CallCommon) string {
	m, ok := methodOf(c)
	if !ok || m.recv == nil {
		return ""
	}
	for _, a := range m.args {
		text, ok := constString(a)
		if !ok {
			continue
		}
		if found := writtenTableName.FindStringSubmatch(text); found != nil {
			return strings.ToLower(found[1])
		}
		return "" // the first text is the statement
	}
	return ""
}

// fault says that a call writes without a fence what others guard, "" if it does not. A function that guards
// some transaction is left alone.
func (g *resources) fault(s *critical, call ssa.CallInstruction) string {
	if g == nil {
		return ""
	}
	what, at := g.written(call.Common())
	if what == "" {
		return ""
	}
	if g.use.guarding(outermost(s.fn)) {
		return ""
	}
	m, ok := methodOf(call.Common())
	if !ok || slices.ContainsFunc(m.args, func(a ssa.Value) bool { return s.mayCarryFence(a, 0) }) {
		return ""
	}
	return fmt.Sprintf("without its fence, by which the %s is guarded at %s", what, g.r.place(at, call.Common().Pos()))
}

// written names the guarded resource that a call writes to, "" if there is none.
func (g *resources) written(c *ssa.CallCommon) (what string, at token.Pos) {
	for _, table := range g.tablesOfCall(c, 0) {
		if at, ok := g.tables[table]; ok {
			return "table " + table, at
		}
	}
	m, ok := methodOf(c)
	if !ok || m.recv == nil || !isGoRedis(m) || !writeName.MatchString(m.obj.Name()) || m.arg(0) == nil {
		return "", token.NoPos
	}
	k := keyOf(m.arg(0))
	if at, ok := g.keys[k.shape()]; ok && k.known() {
		return "key " + k.keyText(), at
	}
	return "", token.NoPos
}
