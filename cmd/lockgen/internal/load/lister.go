package load

import (
	"errors"
	"go/ast"
	"go/build"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/tools/go/packages"

	"github.com/lockgen/lockgen/cmd/internal/constraints"
	"github.com/lockgen/lockgen/cmd/internal/directive"
	"github.com/lockgen/lockgen/cmd/lockgen/internal/load/decls"
	"github.com/lockgen/lockgen/cmd/lockgen/internal/output"
)

// A lister finds the files and imports of packages of the user's module by looking at the folders, without the go
// command, which takes longer to start than all the rest of most runs. What it cannot know it leaves out: stand-ins
// take the place of the standard library, and other modules stay unknown. Package directive says when that was not enough,
// and then the go command is asked.
type lister struct {
	files   *decls.Sources
	build   build.Context
	cgo     bool
	modules *modules
	std     *decls.StandIns
	listed  map[string]*packages.Package // by what, nil for those that cannot be listed
}

func newLister(files *decls.Sources, mods *modules, p Platform) *lister {
	b := build.Default
	b.GOOS, b.GOARCH, b.CgoEnabled, b.BuildTags = p.goos, p.goarch, p.cgo, strings.Split(p.tags, ",")
	return &lister{files: files, build: b, cgo: p.cgo, modules: mods, std: decls.NewStandIns(),
		listed: map[string]*packages.Package{}}
}

// list is the package of a folder, nil if only the go command can tell.
func (l *lister) list(dir string, k output.Kind) *packages.Package {
	id := dir + " " + string(k)
	if p, ok := l.listed[id]; ok {
		return p // nil too while it is being listed: an import cycle
	}
	l.listed[id] = nil
	mod := l.modules.Of(dir)
	if mod == nil {
		return nil
	}
	p := &packages.Package{ID: id, PkgPath: mod.pathOf(dir), Module: &packages.Module{Path: mod.Path()},
		Imports: map[string]*packages.Package{}}
	if !l.readDir(p, dir, k) || len(p.GoFiles) == 0 {
		return nil
	}
	if k == output.KindExternal {
		p.PkgPath += "_test"
	}
	for _, file := range l.files.ParseAll(p.GoFiles) {
		if !l.addImports(p, mod, file) {
			return nil
		}
	}
	l.listed[id] = p
	return p
}

// readDir chooses the files as the go command would. It gives up where that one has something to complain about.
func (l *lister) readDir(p *packages.Package, dir string, k output.Kind) bool {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return false
	}
	for _, entry := range entries {
		name := entry.Name()
		if !strings.HasSuffix(name, ".go") || Hidden(name) || entry.IsDir() {
			continue
		}
		isTest := strings.HasSuffix(name, "_test.go")
		if isTest && k == output.KindPlain || !isTest && k == output.KindExternal {
			continue
		}
		at := filepath.Join(dir, name)
		if info, err := os.Stat(at); err != nil || !info.Mode().IsRegular() {
			continue // reading it may never end
		}
		if ok, err := l.build.MatchFile(dir, name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return false
		} else if !ok {
			continue
		}
		file, complete := l.files.Read(at)
		if file == nil && complete || file != nil && constraints.UsesCgo(file) && !l.cgo {
			continue // output, or left out
		}
		if !complete {
			return false
		}
		external := isTest && strings.HasSuffix(file.Name.Name, "_test")
		if external != (k == output.KindExternal) {
			continue
		}
		if p.Name == "" {
			p.Name = file.Name.Name
		}
		if p.Name != file.Name.Name {
			return false
		}
		p.GoFiles = append(p.GoFiles, at)
	}
	return true
}

// addImports resolves what a file imports. It reports whether the declarations can be understood with that.
func (l *lister) addImports(p *packages.Package, mod *module, file *ast.File) bool {
	for _, spec := range file.Imports {
		at, err := strconv.Unquote(spec.Path.Value)
		if err != nil || spec.Name != nil && spec.Name.Name == "." {
			return false
		}
		switch {
		case at == "C" || at == "unsafe":
			continue
		case at == directive.RuntimePath && !mod.hasRuntime():
			return false // for the go command to say why
		case at == directive.RuntimePath || decls.IsStandard(at) && !mod.Holds(at):
			pkg := l.std.Of(at)
			p.Imports[at] = &packages.Package{ID: at, PkgPath: at, Name: pkg.Name(), Types: pkg}
		case mod.Holds(at):
			if dep := l.list(mod.DirOf(at), output.KindPlain); dep != nil {
				p.Imports[at] = dep
				break
			}
			return false
		case p.Imports[at] == nil:
			p.Imports[at] = &packages.Package{ID: at, PkgPath: at, Name: directive.LikelyName(at), IllTyped: true}
		}
	}
	return true
}
