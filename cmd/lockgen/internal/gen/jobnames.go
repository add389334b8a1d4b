package gen

import (
	"context"
	"path/filepath"
	"slices"

	"golang.org/x/tools/go/packages"

	"github.com/lockgen/lockgen/cmd/internal/files"
)

// sameJobs reports jobs of one name that one program could register: of one package, or of two packages that some main
// package of the module is built from. Which those are the go command is asked only where there are such names.
func (g *generator) sameJobs(ctx context.Context) error {
	byName := map[string][]*unit{}
	var names []string
	for _, u := range g.units {
		if u.Directive.Cron == nil || u.set.test {
			continue
		}
		name := u.jobName()
		if len(byName[name]) == 1 {
			names = append(names, name)
		}
		byName[name] = append(byName[name], u)
	}
	slices.Sort(names)
	var programs []map[string]bool
	for _, name := range names {
		units := byName[name]
		slices.SortFunc(units, func(a, b *unit) int { return compareRefs(g.keyRef(a, a.Keys[0]), g.keyRef(b, b.Keys[0])) })
		for i, second := range units {
			for _, first := range units[:i] {
				if first.pkg.Path() == second.pkg.Path() && first.owner() == second.owner() || !g.together(first, second) {
					continue // jobProblems has said so, or nothing holds both
				}
				if programs == nil && first.pkg.Path() != second.pkg.Path() {
					var err error
					if programs, err = g.programs(ctx); err != nil {
						return err
					}
				}
				if first.pkg.Path() == second.pkg.Path() || holdBoth(programs, first.pkg.Path(), second.pkg.Path()) {
					at := g.position(first)
					g.problems = append(g.problems, second.at(g.files.fset, "jobs",
						"%s and %s (%s:%d) would both be the job %s of one program: name one with job=", second.funcName(),
						first.funcName(), files.Name(relative(g.cfg.Dir, at.Filename)), at.Line, name))
				}
			}
		}
	}
	return nil
}

func holdBoth(programs []map[string]bool, a, b string) bool {
	return slices.ContainsFunc(programs, func(held map[string]bool) bool { return held[a] && held[b] })
}

// programs are the packages that each main package of the module is built from.
func (g *generator) programs(ctx context.Context) ([]map[string]bool, error) {
	mode := packages.NeedName | packages.NeedImports | packages.NeedDeps
	all := filepath.Join(files.ModuleRoot(g.cfg.Dir), "...")
	roots, err := list(ctx, g.cfg, mode, g.cfg.home, false, []string{all})
	if err != nil {
		return nil, err
	}
	programs := []map[string]bool{}
	for _, root := range roots {
		if root.Name != "main" {
			continue
		}
		held := map[string]bool{}
		packages.Visit([]*packages.Package{root}, nil, func(p *packages.Package) { held[p.PkgPath] = true })
		programs = append(programs, held)
	}
	return programs, nil
}
