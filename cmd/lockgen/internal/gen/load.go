package gen

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

// metadata asks the go command for files and imports only: nothing is compiled, so it answers the same whatever state
// the code is in.
const metadata = packages.NeedName | packages.NeedFiles | packages.NeedImports | packages.NeedDeps | packages.NeedModule

// load asks the go command about folders, for one platform.
func load(ctx context.Context, cfg Config, p platform, dirs []string, tests bool) ([]*packages.Package, error) {
	patterns := make([]string, len(dirs))
	for i, dir := range dirs {
		patterns[i] = dir
		if rel, err := filepath.Rel(cfg.Dir, dir); err == nil {
			patterns[i] = "." + string(os.PathSeparator) + rel
		}
	}
	return list(ctx, cfg, metadata, p, tests, patterns)
}

func list(ctx context.Context, cfg Config, mode packages.LoadMode, p platform, tests bool, patterns []string) ([]*packages.Package, error) {
	conf := &packages.Config{Context: ctx, Mode: mode, Dir: cfg.Dir, Env: p.env(cfg.Env), Tests: tests}
	if p.tags != "" {
		conf.BuildFlags = []string{"-tags=" + p.tags}
	}
	roots, err := packages.Load(conf, patterns...)
	if err != nil {
		return nil, fmt.Errorf("lockgen: list packages %s: %w", strings.Join(patterns, " "), err)
	}
	return roots, nil
}

// env is the user's environment for a platform. A file that needs cgo is only listed where cgo is on, although no C
// compiler runs.
func (p platform) env(base []string) []string {
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

// listDirs resolves patterns that are import paths to the folders of their packages.
func listDirs(ctx context.Context, cfg Config, patterns []string) ([]string, []Problem, error) {
	roots, err := list(ctx, cfg, packages.NeedName|packages.NeedFiles|packages.NeedModule, cfg.home, false, patterns)
	if err != nil {
		return nil, nil, err
	}
	var dirs []string
	var problems []Problem
	for _, root := range roots {
		dir := packageDir(root)
		switch {
		case dir == "" && len(root.Errors) > 0:
			problems = append(problems, Problem{Kind: "pattern", Message: fmt.Sprintf("lockgen: package %s: %s", root.PkgPath, root.Errors[0].Msg)})
		case dir == "":
			problems = append(problems, Problem{Kind: "pattern", Message: fmt.Sprintf("lockgen: package %s has no Go files", root.PkgPath)})
		case root.Module == nil || !root.Module.Main:
			problems = append(problems, Problem{Kind: "pattern", Message: fmt.Sprintf(
				"lockgen: package %s is not part of the main module: its generated code would be lost with the next download; run lockgen in its own module", root.PkgPath)})
		default:
			dirs = append(dirs, dir)
		}
	}
	return dirs, problems, nil
}

func packageDir(p *packages.Package) string {
	if p.Dir != "" {
		return p.Dir
	}
	for _, files := range [][]string{p.GoFiles, p.IgnoredFiles} {
		if len(files) > 0 {
			return filepath.Dir(files[0])
		}
	}
	return ""
}
