package load

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"

	"github.com/lockgen/lockgen/cmd/internal/files"
	"github.com/lockgen/lockgen/cmd/lockgen/internal/problem"
)

// metadata asks the go command for files and imports only: nothing is compiled, so it answers the same whatever state
// the code is in.
const metadata = packages.NeedName | packages.NeedFiles | packages.NeedImports | packages.NeedDeps | packages.NeedModule

// listMetadata asks the go command about folders, for one platform.
func listMetadata(
	ctx context.Context, cfg Config, p Platform, dirs []string, tests bool,
) ([]*packages.Package, error) {
	patterns := make([]string, len(dirs))
	for i, dir := range dirs {
		patterns[i] = pathPattern(cfg.Dir, dir)
	}
	return list(ctx, cfg, metadata, p, tests, patterns)
}

func list(
	ctx context.Context, cfg Config, mode packages.LoadMode, p Platform, tests bool, patterns []string,
) ([]*packages.Package, error) {
	conf := &packages.Config{Context: ctx, Mode: mode, Dir: cfg.Dir, Env: p.env(cfg.Env), Tests: tests}
	if p.tags != "" {
		conf.BuildFlags = []string{"-tags=" + p.tags}
	}
	roots, err := packages.Load(conf, patterns...)
	if err != nil {
		return nil, fmt.Errorf("lockgen: the go command cannot list %s: %w", files.Names(patterns), plainError(err))
	}
	return roots, nil
}

// plainError is what the go command said, without how it was run.
func plainError(err error) error {
	if _, said, ok := strings.Cut(err.Error(), "stderr: "); ok && strings.TrimSpace(said) != "" {
		return errors.New(strings.TrimSpace(said))
	}
	return err
}

// saidOf is what the go command said about packages, each reason once, after a colon. It is empty if it said nothing.
func saidOf(pkgs ...*packages.Package) string {
	var said []string
	for _, p := range pkgs {
		for _, e := range p.Errors {
			if msg := strings.Join(strings.Fields(e.Msg), " "); !slices.Contains(said, msg) {
				said = append(said, msg)
			}
		}
	}
	if len(said) == 0 {
		return ""
	}
	return ": " + strings.Join(said, "; ")
}

// env is the user's environment for a platform. A file that needs cgo is only listed where cgo is on, although no C
// compiler runs.
func (p Platform) env(base []string) []string {
	env := slices.Clone(base)
	if p.goos == "" {
		return env // the user's own, whatever go env says
	}
	cgo := "0"
	if p.cgo {
		cgo = "1"
	}
	return append(env, "GOOS="+p.goos, "GOARCH="+p.goarch, "CGO_ENABLED="+cgo)
}

// listDirs resolves patterns that are import paths to the folders of their packages. What a pattern such as all matches
// in other modules is passed over: it is not to be generated for.
func listDirs(ctx context.Context, cfg Config, patterns []string) ([]string, []problem.Problem, error) {
	roots, err := list(ctx, cfg, packages.NeedName|packages.NeedFiles|packages.NeedModule, cfg.home, false, patterns)
	if err != nil {
		return nil, nil, err
	}
	var dirs []string
	var problems []problem.Problem
	refuse := func(format string, args ...any) {
		problems = append(problems, problem.Problem{Kind: "pattern", Message: fmt.Sprintf("lockgen: "+format, args...)})
	}
	for _, root := range roots {
		dir, asked := packageDir(root), slices.Contains(patterns, root.PkgPath)
		switch {
		case dir == "" && len(root.Errors) > 0:
			refuse("package %s%s", files.Name(root.PkgPath), saidOf(root))
		case dir == "":
			// nothing to generate for
		case root.Module != nil && root.Module.Main && !cfg.Links && !files.Below(files.ModuleRoot(root.Module.Dir), dir):
			refuse("package %s %s", files.Name(root.PkgPath), leadsOut)
		case root.Module != nil && root.Module.Main:
			dirs = append(dirs, dir)
		case asked:
			refuse("package %s is not part of the main module: its generated code would be lost with the next download; run "+
				"lockgen in its own module", files.Name(root.PkgPath))
		}
	}
	if len(dirs)+len(problems) == 0 {
		refuse("no package of the main module matches %s: name its folder, such as ./shop, or ./... for all below the "+
			"current one", files.Names(patterns))
	}
	return dirs, problems, nil
}

func packageDir(p *packages.Package) string {
	if p.Dir != "" {
		return p.Dir
	}
	for _, paths := range [][]string{p.GoFiles, p.IgnoredFiles} {
		if len(paths) > 0 {
			return filepath.Dir(paths[0])
		}
	}
	return ""
}
