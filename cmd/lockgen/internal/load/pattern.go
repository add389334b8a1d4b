package load

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"

	"github.com/lockgen/lockgen/cmd/internal/files"
	"github.com/lockgen/lockgen/cmd/lockgen/internal/problem"
)

// expand turns patterns into folders. Patterns that are paths are walked here, the way the go command walks them;
// import paths are its business.
func expand(ctx context.Context, cfg Config) ([]string, []problem.Problem, error) {
	var dirs, others, empty []string
	var problems []problem.Problem
	for _, pattern := range cfg.Patterns {
		if !IsPath(pattern) {
			others = append(others, pattern)
			continue
		}
		found, err := expandPath(cfg.Dir, pattern, cfg.Links)
		if err != nil {
			problems = append(problems, problem.Problem{Kind: "pattern", Message: fmt.Sprintf("lockgen: pattern %s: %v",
				files.Name(pattern), err)})
		}
		if err == nil && len(found) == 0 {
			empty = append(empty, pattern)
		}
		dirs = append(dirs, found...)
	}
	if len(others) > 0 {
		found, bad, err := listDirs(ctx, cfg, others)
		if err != nil {
			return nil, nil, err
		}
		dirs, problems = append(dirs, found...), append(problems, bad...)
	}
	for _, pattern := range empty {
		at := ""
		if len(dirs) == 0 {
			at = moduleBelow(cfg.Dir, pattern)
		}
		if at != "" {
			problems = append(problems, problem.Problem{Kind: "pattern", Message: fmt.Sprintf("lockgen: pattern %s: all packages "+
				"there are in other modules, such as that in %s: run lockgen in each", files.Name(pattern), files.Name(at))})
		} else {
			cfg.Warnf("%s matches no packages", files.Name(pattern))
		}
	}
	slices.Sort(dirs)
	return slices.Compact(dirs), problems, nil
}

// moduleBelow is a module with packages that a pattern leaves out, "" if there is none or the pattern's folder is the root
// of a module: that one has no packages.
func moduleBelow(base, pattern string) string {
	root := RootOf(base, strings.TrimSuffix(filepath.ToSlash(pattern), "/..."))
	if _, err := os.Stat(filepath.Join(root, "go.mod")); err == nil {
		return ""
	}
	_, modules, _ := packageDirs(root)
	for len(modules) > 0 {
		module := modules[0]
		dirs, more, err := packageDirs(module)
		if len(dirs) > 0 || err != nil { // one that cannot be read may have some
			at, _ := filepath.Rel(root, module)
			return filepath.ToSlash(at)
		}
		modules = append(modules[1:], more...)
	}
	return ""
}

// IsPath tells a path from an import path, as the go command does.
func IsPath(pattern string) bool {
	p := filepath.ToSlash(pattern)
	return p == "." || p == ".." || strings.HasPrefix(p, "./") || strings.HasPrefix(p, "../") || filepath.IsAbs(pattern)
}

// expandPath is the folders that a pattern names. Links may lead out of the module where that is how a sandbox shows it.
func expandPath(base, pattern string, links bool) ([]string, error) {
	path, recursive := strings.CutSuffix(filepath.ToSlash(pattern), "/...")
	if strings.Contains(path, "...") {
		return nil, errors.New(
			"... is only understood at the end of a path: name the folder above it, such as ./internal/...")
	}
	root := RootOf(base, path)
	info, err := os.Stat(root)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, errors.New("there is no such folder")
	case err != nil:
		return nil, err
	case !info.IsDir():
		return nil, errors.New("is a file: name its folder, a wrapper is generated for a whole package")
	case !links && !files.Below(files.ModuleRoot(root), root):
		return nil, errors.New(leadsOut)
	case files.Vendored(root):
		return nil, errors.New("is vendored: its generated code would be lost with the next go mod vendor; run lockgen in its " +
			"own module")
	case !recursive:
		if !HasGo(root) {
			return nil, errors.New("no Go files in this folder")
		}
		return []string{root}, nil
	}
	return PackageDirs(root)
}

const leadsOut = "leads out of the module through a link: run lockgen where the folder really is"

// RootOf is the folder of a pattern, without its dots.
func RootOf(base, path string) string {
	root := filepath.FromSlash(wholeRoot(path, runtime.GOOS))
	if !filepath.IsAbs(root) {
		root = filepath.Join(base, root)
	}
	return root
}

// wholeRoot gives the root of a file system, or of a drive, back the slash that the pattern's dots followed: C: alone is the
// current folder of the drive.
func wholeRoot(path, goos string) string {
	if path == "" || goos == "windows" && len(path) == 2 && path[1] == ':' {
		return path + "/"
	}
	return path
}

// PackageDirs lists the folders with Go files below root, without those that the go command leaves out of "...": hidden ones,
// testdata, vendor, other modules, and what go.mod ignores.
func PackageDirs(root string) ([]string, error) {
	dirs, _, err := packageDirs(root)
	return dirs, err
}

// packageDirs is PackageDirs with the other modules that it leaves out.
func packageDirs(root string) (dirs, modules []string, err error) {
	ignored := ignoredDirs(root)
	err = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if !entry.IsDir() {
			if dir := filepath.Dir(path); strings.HasSuffix(path, ".go") && (len(dirs) == 0 || dirs[len(dirs)-1] != dir) {
				dirs = append(dirs, dir)
			}
			return nil
		}
		if path == root {
			return nil
		}
		if name := entry.Name(); Hidden(name) || name == "testdata" || name == "vendor" || ignored(path) {
			return fs.SkipDir
		}
		if _, err := os.Stat(filepath.Join(path, "go.mod")); err == nil {
			modules = append(modules, path)
			return fs.SkipDir
		}
		return nil
	})
	return dirs, modules, err
}

// HasGo tells whether a folder holds Go files.
func HasGo(dir string) bool {
	files, _ := filepath.Glob(filepath.Join(dir, "*.go"))
	return len(files) > 0
}

// ignoredDirs reads the ignore directives of the module that root lies in. A go.mod that cannot be read ignores
// nothing: the go command will say what is wrong with it.
func ignoredDirs(root string) func(dir string) bool {
	module := root
	for {
		content, err := files.Read(filepath.Join(module, "go.mod"))
		if err == nil {
			mod, err := modfile.ParseLax("go.mod", content, nil)
			if err != nil {
				return func(string) bool { return false }
			}
			return func(dir string) bool { return ignores(mod.Ignore, module, dir) }
		}
		parent := filepath.Dir(module)
		if parent == module {
			return func(string) bool { return false }
		}
		module = parent
	}
}

// ignores: a path that starts with ./ is seen from the module's root, another one from every folder.
func ignores(list []*modfile.Ignore, module, dir string) bool {
	rel, err := filepath.Rel(module, dir)
	if err != nil {
		return false
	}
	rel = filepath.ToSlash(rel)
	for _, ignore := range list {
		path := strings.TrimSuffix(ignore.Path, "/")
		if fixed, ok := strings.CutPrefix(path, "./"); ok {
			if rel == fixed {
				return true
			}
		} else if rel == path || strings.HasSuffix(rel, "/"+path) {
			return true
		}
	}
	return false
}
