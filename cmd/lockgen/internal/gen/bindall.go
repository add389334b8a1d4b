package gen

import (
	"context"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

// bindAll loads the folders with directives, once for each platform that is needed to see all their files.
func (g *generator) bindAll(ctx context.Context) error {
	byPlatform := map[platform][]*annotated{}
	var order []platform
	for _, a := range g.found {
		p, ok := platformFor(a.set.constraint, g.cfg.home)
		if !ok {
			g.problems = append(g.problems, problemAt(g.files.fset, a.Directive.Pos(), a.Directive.End(), "unbuilt",
				"no build includes this file (its constraint is %s), so a wrapper could never be called: delete the directive, "+
					"or correct the constraint", a.set.buildText()))
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

// bindPlatform binds the directives that are built for a platform: those that can be understood without the go command
// first, the others with what it says about all their packages in one go.
func (g *generator) bindPlatform(ctx context.Context, p platform, found []*annotated) error {
	rest := found
	if !g.cfg.loadAll && localEnough(g.cfg.Env) {
		rest = g.bindWithoutGo(p, found)
		g.cfg.Logf("understood %d of %d functions for %s/%s without the go command", len(found)-len(rest), len(found), p.goos,
			p.goarch)
	}
	if len(rest) == 0 {
		return nil
	}
	return g.bindLoaded(ctx, p, rest)
}

// bindWithoutGo returns the directives that the go command has to be asked about.
func (g *generator) bindWithoutGo(p platform, found []*annotated) (rest []*annotated) {
	l, check := newLister(g.files, &g.modules, p), newChecker(g.files, p)
	groups := byPackage(found)
	listed := make([]*packages.Package, len(groups))
	for i, group := range groups {
		if listed[i] = g.listLocally(l, group); listed[i] != nil {
			check.expect(listed[i], g.foundIn(listed[i]))
		}
	}
	for i, group := range groups {
		if listed[i] == nil || !g.bindLocally(check, listed[i], group) {
			rest = append(rest, group...)
		}
	}
	return rest
}

// localEnough tells whether folders hold what the go command would build: not with an overlay, nor with another driver
// in its place.
func localEnough(env []string) bool {
	for _, v := range env {
		name, value, _ := strings.Cut(v, "=")
		switch {
		case name == "GOPACKAGESDRIVER" && value != "" && value != "off",
			name == "GO111MODULE" && value == "off",
			name == "GOFLAGS" && (strings.Contains(value, "-overlay") || strings.Contains(value, "-modfile")):
			return false
		}
	}
	return true
}

// byPackage groups directives by the package that their file is built in.
func byPackage(found []*annotated) [][]*annotated {
	var groups [][]*annotated
	index := map[string]int{}
	for _, a := range found {
		id := a.folder.dir + " " + string(a.set.kind())
		i, ok := index[id]
		if !ok {
			i = len(groups)
			index[id], groups = i, append(groups, nil)
		}
		groups[i] = append(groups[i], a)
	}
	return groups
}

func (g *generator) bindLoaded(ctx context.Context, p platform, found []*annotated) error {
	var dirs []string
	tests := false
	for _, a := range found {
		dirs = append(dirs, a.folder.dir)
		tests = tests || a.set.test
	}
	slices.Sort(dirs)
	dirs = slices.Compact(dirs)
	g.cfg.Logf("loading %d packages for %s/%s", len(dirs), p.goos, p.goarch)
	roots, err := load(ctx, g.cfg, p, dirs, tests)
	if ctx.Err() != nil {
		return err
	}
	if err != nil { // there may be more to say about the directives themselves
		g.problems = append(g.problems, Problem{Kind: "load", Message: err.Error()})
		return nil
	}
	g.bindOwned(newChecker(g.files, p), roots, found)
	return nil
}

// bindOwned binds each directive with the package that its file belongs to.
func (g *generator) bindOwned(check *checker, roots []*packages.Package, found []*annotated) {
	owners := ownersOf(roots)
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
		check.expect(owner, g.foundIn(owner))
	}
	for _, owner := range order {
		g.bindPackage(check, owner, groups[owner])
	}
}

func (g *generator) bindPackage(check *checker, p *packages.Package, mine []*annotated) {
	if lockrt := p.Imports[runtimePath]; lockrt != nil && len(lockrt.GoFiles) == 0 {
		// Without it no *lockrt.Locker is known as one, and every wrapper would take a new one.
		g.problems = append(g.problems, problemAt(g.files.fset, mine[0].Directive.Pos(), mine[0].Directive.End(), "load",
			"package %s cannot be found, so nothing is known about lockers%s", runtimePath, saidOf(lockrt, p)))
		return
	}
	units, problems := g.bindListed(check, p, mine)
	g.problems = append(g.problems, problems...)
	g.units = append(g.units, units...)
}

// bindListed binds the directives of a package, and with them those that are built together with it under other
// constraints, to find names that clash.
func (g *generator) bindListed(check *checker, p *packages.Package, mine []*annotated) ([]*unit, []Problem) {
	pkg, info := g.cfg.check(check, p)
	units, problems := bind(g.files.fset, mine, pkg, info)
	together := slices.DeleteFunc(g.foundIn(p), func(a *annotated) bool { return slices.Contains(mine, a) })
	others, _ := bind(g.files.fset, together, pkg, info)
	return units, append(problems, clashes(g.files.fset, append(others, units...))...)
}

// foundIn are the directives in the files of a package.
func (g *generator) foundIn(p *packages.Package) []*annotated {
	if g.byPath == nil {
		g.byPath = map[string][]*annotated{}
		for _, a := range g.found {
			g.byPath[a.path()] = append(g.byPath[a.path()], a)
		}
	}
	var found []*annotated
	for _, path := range p.GoFiles {
		found = append(found, g.byPath[path]...)
	}
	return found
}
