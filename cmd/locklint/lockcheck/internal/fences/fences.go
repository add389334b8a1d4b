// Package fences knows the calls that enforce fencing tokens, and what statements write to.
package fences

import (
	"go/types"
	"regexp"
	"strings"

	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/internal/directive"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/clients"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

// path is the import path of the package that enforces fences; others that do lie below it.
const path = directive.RuntimePath + "/fence"

// IsPath reports whether a package is one of those that enforce fences.
func IsPath(p *types.Package) bool {
	at := clients.WithoutVendor(p.Path())
	return at == path || strings.HasPrefix(at, path+"/")
}

// IsCall reports whether a call is one of this project's packages that enforce fences.
func IsCall(c *ssa.CallCommon) bool {
	m, ok := ssax.MethodOf(c)
	return ok && m.Obj.Pkg() != nil && IsPath(m.Obj.Pkg())
}

// GuardsTx reports whether a call is fence.SQL's Guard or GuardLease.
func GuardsTx(c *ssa.CallCommon) bool { return isNamed(c, "Guard", "GuardLease") }

// Writes reports whether a call is redisfence.Redis's Do or Run, which write if the fence is not too old.
func Writes(c *ssa.CallCommon) bool { return isNamed(c, "Do", "Run") }

// Resource is the name under which a call compares the fence that it is given, nil for calls that find it themselves.
func Resource(c *ssa.CallCommon) ssa.Value {
	m, _ := ssax.MethodOf(c)
	switch {
	case isNamed(c, "Guard"):
		return m.Arg(1)
	case Writes(c):
		return m.Arg(0)
	}
	return nil
}

func isNamed(c *ssa.CallCommon, names ...string) bool {
	m, ok := ssax.MethodOf(c)
	if !ok || !IsCall(c) {
		return false
	}
	for _, name := range names {
		if m.Obj.Name() == name {
			return true
		}
	}
	return false
}

var writtenTable = regexp.MustCompile("(?is)^\\s*(?:INSERT\\s+(?:OR\\s+\\w+\\s+)?INTO|UPDATE|DELETE\\s+FROM|REPLACE\\s+INTO|" +
	"MERGE\\s+INTO)\\s+[\"`\\[]?([\\w.]+)")

// WrittenTable is the table that a call of Exec, or of what else takes SQL as a constant, writes to. "" for others.
func WrittenTable(c *ssa.CallCommon) string {
	m, ok := ssax.MethodOf(c)
	if !ok || m.Recv == nil {
		return ""
	}
	for _, a := range m.Args {
		text, ok := ssax.ConstString(a)
		if !ok {
			continue
		}
		if found := writtenTable.FindStringSubmatch(text); found != nil {
			return strings.ToLower(found[1])
		}
		return "" // the first text is the statement
	}
	return ""
}

// maxDepth bounds functions that call functions.
const maxDepth = 2

// WrittenTables are the tables that a call writes, itself or through functions of its own package.
func WrittenTables(c *ssa.CallCommon, own *ssa.Package) []string { return tablesOfCall(c, own, 0) }

// TablesOf are the tables that a function writes, itself or in what it calls.
func TablesOf(fn *ssa.Function) []string { return tablesOf(fn, fn.Pkg, 0) }

func tablesOf(fn *ssa.Function, own *ssa.Package, depth int) []string {
	var list []string
	ssax.EachCall(fn, func(call ssa.CallInstruction) { list = append(list, tablesOfCall(call.Common(), own, depth)...) })
	return list
}

func tablesOfCall(c *ssa.CallCommon, own *ssa.Package, depth int) []string {
	if table := WrittenTable(c); table != "" {
		return []string{table}
	}
	callee := c.StaticCallee()
	if callee == nil || callee.Pkg != own || callee.Parent() != nil || depth == maxDepth {
		return nil
	}
	return tablesOf(callee, own, depth+1)
}
