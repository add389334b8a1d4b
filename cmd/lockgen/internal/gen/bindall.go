package gen

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"

	"github.com/lockgen/lockgen/cmd/internal/directive"
)

// bindAll loads the folders with directives, once for each platform that is needed to see all their files.
func (g *generator) bindAll(ctx context.Context) error {
	byPlatform := map[platform][]*annotated{}
	var order []platform
	for _, a := range g.found {
		p, ok := platformFor(a.set.constraint, g.cfg.home)
		if !ok {
			g.problems = append(g.problems, problemAt(g.files.fset, a.Directive.Pos(), a.Directive.End(), "unbuilt",
				"no build includes this file (its constraint is %s), so a wrapper could never be called: delete the directive, or correct the constraint", a.set.buildText()))
			continue
		}
		if byPlatform[p] == nil {
			order = append(order, p)
		}
		byPlatform[p] = append(byPlatform[p], a)
	}
	for _, p := range order {
		if err := g.bindPlatform(ctx, p, byPlatform[p]); err != nil {
			return err
		}
	}
	return nil
}

func (g *generator) bindPlatform(ctx context.Context, p platform, found []*annotated) error {
	var dirs []string
	tests := false
	for _, a := range found {
		dirs = append(dirs, a.folder.dir)
		tests = tests || a.set.test
	}
	dirs = slices.Compact(dirs)
	g.cfg.Logf("loading %d packages for %s/%s", len(dirs), p.goos, p.goarch)
	roots, err := load(ctx, g.cfg, p, dirs, tests)
	if err != nil {
		return err
	}
	owners := ownersOf(roots)
	check := newChecker(g.files, p)
	groups := map[*packages.Package][]*annotated{}
	var order []*packages.Package
	for _, a := range found {
		owner := owners.of(a)
		if owner == nil {
			g.notListed(a, roots)
			continue
		}
		if groups[owner] == nil {
			order = append(order, owner)
		}
		groups[owner] = append(groups[owner], a)
	}
	for _, owner := range order {
		g.bindPackage(check, owner, groups[owner])
	}
	return nil
}

// bindPackage binds the directives of a package, and with them those that are built together with it under other constraints,
// to find names that clash.
func (g *generator) bindPackage(check *checker, p *packages.Package, mine []*annotated) {
	if lockrt := p.Imports[runtimePath]; lockrt != nil && len(lockrt.GoFiles) == 0 {
		// Without it no *lockrt.Locker is known as one, and every wrapper would take a new one.
		g.problems = append(g.problems, problemAt(g.files.fset, mine[0].Directive.Pos(), mine[0].Directive.End(), "load",
			"package %s cannot be found, so nothing is known about lockers: add its module with go get github.com/lockgen/lockgen", runtimePath))
		return
	}
	pkg, info := check.check(p, mentioned(mine))
	units, problems := bind(g.files.fset, mine, pkg, info)
	g.problems = append(g.problems, problems...)
	g.units = append(g.units, units...)

	var together []*annotated
	for _, a := range g.found {
		if slices.Contains(p.GoFiles, filepath.Join(a.folder.dir, a.name)) && !slices.Contains(mine, a) {
			together = append(together, a)
		}
	}
	others, _ := bind(g.files.fset, together, pkg, info)
	g.problems = append(g.problems, clashes(g.files.fset, append(others, units...))...)
}

// mentioned are the names of imports that directives refer to, which the declarations need not mention.
func mentioned(found []*annotated) map[string]bool {
	names := map[string]bool{}
	for _, a := range found {
		d := a.Directive
		var refs []*directive.ConstRef
		for _, key := range d.Keys {
			refs = append(refs, key.Const)
		}
		for _, x := range []*directive.Duration{d.TTL, d.Wait, d.MaxHold, d.MinHold, d.Timeout, d.Jitter} {
			if x != nil {
				refs = append(refs, x.Const)
			}
		}
		for _, x := range []*directive.String{d.Cron, d.TZ, d.Job} {
			if x != nil {
				refs = append(refs, x.Const)
			}
		}
		if d.Retries != nil {
			refs = append(refs, d.Retries.Const)
		}
		for _, ref := range refs {
			if ref != nil {
				names[ref.Pkg] = true
			}
		}
		if d.Locker != nil {
			first, _, _ := strings.Cut(d.Locker.Value, ".")
			names[first] = true
		}
	}
	return names
}
