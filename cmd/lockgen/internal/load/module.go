package load

import (
	"fmt"
	"go/version"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"

	"golang.org/x/mod/modfile"

	"github.com/lockgen/lockgen/cmd/internal/files"
	"github.com/lockgen/lockgen/cmd/lockgen/internal/problem"
)

// OwnModule is the module that package lockrt belongs to.
const OwnModule = "github.com/lockgen/lockgen"

// modules are the go.mod files above the folders that are looked at, each read once.
type modules struct {
	mu    sync.Mutex
	byDir map[string]*module // also of folders below the module's root; nil where there is none
}

// A module is a go.mod, and the folder that it stands in.
type module struct {
	root string
	file *modfile.File
}

// Of is the module that a folder belongs to, nil if there is none, or none that can be read.
func (m *modules) Of(dir string) *module {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.find(dir)
}

func (m *modules) find(dir string) *module {
	if mod, ok := m.byDir[dir]; ok {
		return mod
	}
	if m.byDir == nil {
		m.byDir = map[string]*module{}
	}
	content, err := files.Read(filepath.Join(dir, "go.mod"))
	var mod *module
	if err == nil {
		if file, err := modfile.ParseLax("go.mod", content, nil); err == nil && file.Module != nil {
			mod = &module{root: dir, file: file}
		}
	} else if parent := filepath.Dir(dir); parent != dir {
		mod = m.find(parent)
	}
	m.byDir[dir] = mod
	return mod
}

// Path is the module's path.
func (m *module) Path() string { return m.file.Module.Mod.Path }

// pathOf is the import path of a folder of the module.
func (m *module) pathOf(dir string) string {
	rel, err := filepath.Rel(m.root, dir)
	if err != nil {
		return ""
	}
	return path.Join(m.Path(), filepath.ToSlash(rel))
}

// DirOf is the folder that an import path of the module stands for.
func (m *module) DirOf(importPath string) string {
	rest := strings.TrimPrefix(importPath, m.Path())
	return filepath.Join(m.root, filepath.FromSlash(rest))
}

// Holds tells whether a package belongs to the module: its path does, its folder exists, and no other module begins on
// the way to it.
func (m *module) Holds(importPath string) bool {
	if importPath != m.Path() && !strings.HasPrefix(importPath, m.Path()+"/") {
		return false
	}
	for dir := m.DirOf(importPath); dir != m.root; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return false
		}
	}
	info, err := os.Stat(m.DirOf(importPath))
	return err == nil && info.IsDir()
}

// hasRuntime tells whether package lockrt can be expected to be there.
func (m *module) hasRuntime() bool {
	if m.Path() == OwnModule {
		return true
	}
	for _, r := range m.file.Require {
		if r.Mod.Path == OwnModule {
			return true
		}
	}
	return false
}

// tooNew reports modules that need a newer Go than lockgen was built with: it might not be able to read them, and would
// blame their code.
func (l *loader) tooNew(built string) []problem.Problem {
	var problems []problem.Problem
	if !version.IsValid(built) {
		return nil // a Go under development
	}
	seen := map[*module]bool{nil: true}
	for _, f := range l.Folders {
		mod := l.Modules.Of(f.Dir)
		if seen[mod] {
			continue
		}
		seen[mod] = true
		if line := mod.file.Go; line != nil && version.Compare(version.Lang("go"+line.Version), version.Lang(built)) > 0 {
			problems = append(problems, problem.Problem{File: filepath.Join(mod.root, "go.mod"), Line: line.Syntax.Start.Line,
				Column: line.Syntax.Start.LineRune, Kind: "go-version",
				Message: fmt.Sprintf("module %s needs Go %s and this lockgen was built with %s: build lockgen again with the "+
					"newer Go (go install %s/cmd/lockgen@latest)", mod.Path(), line.Version, built, OwnModule)})
		}
	}
	return problems
}
