package clash

import (
	"go/ast"
	"maps"
	"slices"

	"github.com/lockgen/lockgen/cmd/internal/directive"
	"github.com/lockgen/lockgen/cmd/lockgen/internal/bound"
)

// lostJobs reports structs that embed several types with jobs at different depths: the RegisterJobs of the outermost is
// the one that they have, and hides the others. Types of other packages, and those that have jobs of their own, are left
// to hiddenJobs.
func (c *finder) lostJobs() {
	for _, group := range bound.Scheduled(c.Funcs) {
		u := group[0]
		if u.RecvType == "" {
			continue
		}
		structs := c.structs(u)
		for _, name := range slices.Sorted(maps.Keys(structs)) {
			outer, hidden := jobsIn(structs, c.ownersOfJobs(u), name)
			if outer == u.RecvType && hidden != "" {
				c.found = append(c.found, u.At(c.Files.Fset, "jobs", "%s would have the %s of the embedded %s, which hides that "+
					"of %s, and those jobs would not be registered: give one of the fields a name, and register the jobs of both", name,
					bound.RegisterName, outer, hidden))
			}
		}
	}
}

// ownersOfJobs are the types of a unit's package that have jobs.
func (c *finder) ownersOfJobs(u *bound.Func) map[string]bool {
	owners := map[string]bool{}
	for _, other := range c.Funcs {
		if other.Directive.Cron != nil && other.RecvType != "" && other.Pkg.Path() == u.Pkg.Path() {
			owners[other.RecvType] = true
		}
	}
	return owners
}

// structs are the types that each struct of a unit's package embeds, by name.
func (c *finder) structs(u *bound.Func) map[string][]string {
	all := map[string][]string{}
	for _, path := range c.Folder(u).Paths() {
		file := c.Files.Parse(path)
		if file == nil || file.Name.Name != u.File.Name.Name {
			continue
		}
		ast.Inspect(file, func(node ast.Node) bool {
			spec, ok := node.(*ast.TypeSpec)
			if !ok {
				return true
			}
			if s, ok := spec.Type.(*ast.StructType); ok {
				for _, field := range s.Fields.List {
					if len(field.Names) == 0 && localName(field.Type) != "" {
						all[spec.Name.Name] = append(all[spec.Name.Name], directive.ReceiverBase(field.Type))
					}
				}
			}
			return false
		})
	}
	return all
}

// jobsIn looks for types with jobs among those that a struct embeds, depth by depth: the only one at the first depth where
// there is one, and one that is deeper and not part of it.
func jobsIn(structs map[string][]string, owners map[string]bool, name string) (outer, hidden string) {
	if owners[name] {
		return "", ""
	}
	level, seen := structs[name], map[string]bool{name: true}
	for len(level) > 0 {
		var here, next []string
		for _, embedded := range level {
			switch {
			case seen[embedded]:
				continue
			case owners[embedded]:
				here = append(here, embedded)
			default:
				next = append(next, structs[embedded]...)
			}
			seen[embedded] = true
		}
		switch {
		case outer != "" && len(here) > 0:
			return outer, here[0]
		case len(here) > 1:
			return "", "" // neither is promoted, and a call of RegisterJobs does not compile
		case len(here) == 1:
			outer = here[0]
		}
		level = next
	}
	return outer, ""
}
