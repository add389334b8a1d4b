package load

import (
	"context"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"

	"github.com/lockgen/lockgen/cmd/internal/directive"
	"github.com/lockgen/lockgen/cmd/lockgen/internal/bound"
	"github.com/lockgen/lockgen/cmd/lockgen/internal/load/decls"
	"github.com/lockgen/lockgen/cmd/lockgen/internal/problem"
)

// bindAll loads the folders with directives, once for each platform that is needed to see all their files.
func (l *loader) bindAll(ctx context.Context) error {
	byPlatform := map[Platform][]*annotated{}
	var order []Platform
	for _, a := range l.found {
		p, ok := platformFor(a.set.Constraint, l.Config.home)
		if !ok {
			l.Problems = append(l.Problems, l.unbuilt(a))
			continue
		}
		if byPlatform[p] == nil {
			order = append(order, p)
		}
		byPlatform[p] = append(byPlatform[p], a)
	}
	for _, p := range order {
		if err := l.bindPlatform(ctx, p, byPlatform[p]); err != nil {
			return err
		}
	}
	return nil
}

func (l *loader) unbuilt(a *annotated) problem.Problem {
	why := "no build includes this file (its constraint is %s), so a wrapper could never be called: delete the directive, " +
		"or correct the constraint"
	if ownBuilds(a.set.Constraint) {
		why = "lockgen looks at builds with the gc compiler and the experiments that are usual, and none includes this file (its " +
			"constraint is %s): move the function to a file that they build"
	}
	return problem.At(l.Files.Fset, a.Directive.Pos(), a.Directive.End(), "unbuilt", why, a.set.BuildText())
}

// bindPlatform binds the directives that are built for a platform: those that can be understood without the go command
// first, the others with what it says about all their packages in one go.
func (l *loader) bindPlatform(ctx context.Context, p Platform, found []*annotated) error {
	rest := found
	if !l.Config.AskAlways && localEnough(l.Config.Env) {
		rest = l.bindWithoutGo(p, found)
		l.Config.Logf("understood %d of %d functions for %s/%s without the go command", len(found)-len(rest), len(found),
			p.goos, p.goarch)
	}
	if len(rest) == 0 {
		return nil
	}
	return l.bindLoaded(ctx, p, rest)
}

// bindWithoutGo returns the directives that the go command has to be asked about.
func (l *loader) bindWithoutGo(p Platform, found []*annotated) (rest []*annotated) {
	folders, check := newLister(l.Files, &l.Modules, p), decls.NewChecker(l.Files, p.goarch)
	groups := byPackage(found)
	listed := make([]*packages.Package, len(groups))
	for i, group := range groups {
		if listed[i] = l.listLocally(folders, group); listed[i] != nil {
			check.Expect(listed[i], rootsOf(l.foundIn(listed[i])))
		}
	}
	for i, group := range groups {
		if listed[i] == nil || !l.bindLocally(check, listed[i], group) {
			rest = append(rest, group...)
		}
	}
	return rest
}

// localEnough reports whether folders hold what the go command would build. They do not with an overlay, or with
// another driver in its place.
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
		id := a.folder.Dir + " " + string(a.set.Kind())
		i, ok := index[id]
		if !ok {
			i = len(groups)
			index[id], groups = i, append(groups, nil)
		}
		groups[i] = append(groups[i], a)
	}
	return groups
}

func (l *loader) bindLoaded(ctx context.Context, p Platform, found []*annotated) error {
	var dirs []string
	tests := false
	for _, a := range found {
		dirs = append(dirs, a.folder.Dir)
		tests = tests || a.set.Test
	}
	slices.Sort(dirs)
	dirs = slices.Compact(dirs)
	l.Config.Logf("loading %d packages for %s/%s", len(dirs), p.goos, p.goarch)
	roots, err := l.Config.GoList(ctx, l.Config, p, dirs, tests)
	if ctx.Err() != nil {
		return err
	}
	if err != nil { // there may be more to say about the directives themselves
		l.Problems = append(l.Problems, problem.Problem{Kind: "load", Message: err.Error()})
		return nil
	}
	l.bindOwned(decls.NewChecker(l.Files, p.goarch), roots, found)
	return nil
}

// bindOwned binds each directive with the package that its file belongs to.
func (l *loader) bindOwned(check *decls.Checker, roots []*packages.Package, found []*annotated) {
	owners := ownersOf(roots)
	groups := map[*packages.Package][]*annotated{}
	var order []*packages.Package
	for _, a := range found {
		owner := owners.of(a)
		if owner == nil {
			l.notListed(a, roots)
			continue
		}
		if groups[owner] == nil {
			order = append(order, owner)
		}
		groups[owner] = append(groups[owner], a)
	}
	for _, owner := range order {
		check.Expect(owner, rootsOf(l.foundIn(owner)))
	}
	for _, owner := range order {
		l.bindPackage(check, owner, groups[owner])
	}
}

func (l *loader) bindPackage(check *decls.Checker, p *packages.Package, mine []*annotated) {
	if lockrt := p.Imports[directive.RuntimePath]; lockrt != nil && len(lockrt.GoFiles) == 0 {
		// Without it no *lockrt.Locker is known as one, and every wrapper would take a new one.
		l.Problems = append(l.Problems, problem.At(l.Files.Fset, mine[0].Directive.Pos(), mine[0].Directive.End(), "load",
			"package %s cannot be found, so nothing is known about lockers%s", directive.RuntimePath, saidOf(lockrt, p)))
		return
	}
	units, problems := l.bindListed(check, p, mine)
	l.Problems = append(l.Problems, problems...)
	l.Funcs = append(l.Funcs, units...)
}

// bindListed binds the directives of a package, and with them those that are built together with it under other
// constraints, to find names that clash.
func (l *loader) bindListed(
	check *decls.Checker, p *packages.Package, mine []*annotated,
) ([]*bound.Func, []problem.Problem) {
	pkg, info := l.Config.Check(check, p)
	units, problems := bind(l.Files, mine, pkg, info)
	together := slices.DeleteFunc(l.foundIn(p), func(a *annotated) bool { return slices.Contains(mine, a) })
	others, _ := bind(l.Files, together, pkg, info)
	return units, append(problems, clashes(l.Files.Fset, append(others, units...))...)
}

// foundIn are the directives in the files of a package.
func (l *loader) foundIn(p *packages.Package) []*annotated {
	if l.byPath == nil {
		l.byPath = map[string][]*annotated{}
		for _, a := range l.found {
			l.byPath[a.path()] = append(l.byPath[a.path()], a)
		}
	}
	var found []*annotated
	for _, path := range p.GoFiles {
		found = append(found, l.byPath[path]...)
	}
	return found
}

func rootsOf(found []*annotated) []decls.Root {
	var roots []decls.Root
	for _, a := range found {
		roots = append(roots, decls.Root{Decl: a.Decl, Directive: a.Directive, File: a.file})
	}
	return roots
}
