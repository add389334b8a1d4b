package clash

import (
	"context"
	"slices"

	"github.com/lockgen/lockgen/cmd/internal/files"
	"github.com/lockgen/lockgen/cmd/lockgen/internal/bound"
)

// sameJobs reports jobs of one name that one program could register: of one package, or of two packages that some main
// package of the module is built from. Which those are the go command is asked only where there are such names.
func (c *finder) sameJobs(ctx context.Context) error {
	byName := map[string][]*bound.Func{}
	var names []string
	for _, u := range c.Funcs {
		if u.Directive.Cron == nil || u.Set.Test {
			continue
		}
		name := u.JobID()
		if len(byName[name]) == 1 {
			names = append(names, name)
		}
		byName[name] = append(byName[name], u)
	}
	slices.Sort(names)
	var programs []map[string]bool
	for _, name := range names {
		units := byName[name]
		slices.SortFunc(units, func(a, b *bound.Func) int {
			return CompareRefs(Ref(c.Program, a, a.Keys[0]), Ref(c.Program, b, b.Keys[0]))
		})
		for i, second := range units {
			for _, first := range units[:i] {
				if first.Pkg.Path() == second.Pkg.Path() && first.Owner() == second.Owner() || !together(c.Program, first, second) {
					continue // jobProblems has said so, or nothing holds both
				}
				if programs == nil && first.Pkg.Path() != second.Pkg.Path() {
					var err error
					if programs, err = c.Programs(ctx); err != nil {
						return err
					}
				}
				if first.Pkg.Path() == second.Pkg.Path() || holdBoth(programs, first.Pkg.Path(), second.Pkg.Path()) {
					at := c.Position(first)
					c.found = append(c.found, second.At(c.Files.Fset, "jobs",
						"%s and %s (%s:%d) would both be the job %s of one program: name one with job=", second.QualifiedName(),
						first.QualifiedName(), files.Name(files.Relative(c.Config.Dir, at.Filename)), at.Line, name))
				}
			}
		}
	}
	return nil
}

func holdBoth(programs []map[string]bool, a, b string) bool {
	return slices.ContainsFunc(programs, func(held map[string]bool) bool { return held[a] && held[b] })
}
