package load

import (
	"context"
	"go/build/constraint"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"runtime"

	"golang.org/x/tools/go/packages"

	"github.com/lockgen/lockgen/cmd/internal/constraints"
	"github.com/lockgen/lockgen/cmd/internal/files"
	"github.com/lockgen/lockgen/cmd/lockgen/internal/bound"
	"github.com/lockgen/lockgen/cmd/lockgen/internal/load/decls"
	"github.com/lockgen/lockgen/cmd/lockgen/internal/output"
	"github.com/lockgen/lockgen/cmd/lockgen/internal/problem"
)

// Config says what to load.
type Config struct {
	Dir      string   // where patterns start, absolute
	Patterns []string // packages as the go command takes them
	Tags     string   // build tags, comma separated
	Env      []string // of the go command
	Links    bool     // links may lead out of the module: that is how a sandbox shows sources
	// Logf reports what is done, for -v. Warnf reports what is not an error but probably a mistake. Both may be nil.
	Logf, Warnf func(format string, args ...any)

	// For tests: AskAlways asks the go command about everything, GoList takes its place, and Check that of the checker.
	AskAlways bool
	GoList    func(ctx context.Context, cfg Config, p Platform, dirs []string, tests bool) ([]*packages.Package, error)
	Check     func(*decls.Checker, *packages.Package) (*types.Package, *types.Info)

	home Platform
}

// A Program is what the packages hold: functions with directives, and what is wrong with them.
type Program struct {
	Funcs    []*bound.Func
	Problems []problem.Problem
	Folders  []*Folder // with candidates or outputs
	Dirs     []string  // of all folders that were asked for
	Files    *decls.Sources
	Modules  modules
	Config   Config
}

// Load scans, loads and binds. It writes nothing. The error is about lockgen's own work, such as a go command that
// cannot be started; what is wrong with the packages is in the problems.
func Load(ctx context.Context, cfg Config) (*Program, error) {
	if cfg.Logf == nil {
		cfg.Logf = func(string, ...any) {}
	}
	if cfg.Warnf == nil {
		cfg.Warnf = cfg.Logf
	}
	if cfg.Check == nil {
		cfg.Check = (*decls.Checker).Check
	}
	if cfg.GoList == nil {
		cfg.GoList = listMetadata
	}
	cfg.home = HomePlatform(cfg)
	folders, problems, err := scan(ctx, cfg)
	if err != nil {
		return nil, err
	}
	l := &loader{Program: &Program{Config: cfg, Files: decls.NewSources(), Problems: problems}}
	for _, f := range folders {
		if l.Dirs = append(l.Dirs, f.Dir); !f.idle() {
			l.Folders = append(l.Folders, f)
		}
	}
	l.find()
	if old := l.tooNew(runtime.Version()); len(old) > 0 {
		l.Problems = old // what else there is to say may come from that
		return l.Program, nil
	}
	return l.Program, l.bindAll(ctx)
}

// A loader carries what the steps have found so far.
type loader struct {
	*Program
	found  []*annotated
	byPath map[string][]*annotated // found, by file
}

// Built reports whether there is a build that contains files under both constraints.
func (p *Program) Built(a, b constraint.Expr) bool {
	_, ok := platformFor(constraints.And(a, b), p.Config.home)
	return ok
}

// Position is where a function is declared.
func (p *Program) Position(u *bound.Func) token.Position {
	return p.Files.Fset.PositionFor(u.Decl.Pos(), false)
}

// Folder is where a function stands.
func (p *Program) Folder(u *bound.Func) *Folder {
	for _, f := range p.Folders {
		if f.Dir == u.Dir {
			return f
		}
	}
	return nil
}

// SetOfFile reads the constraints of a file, which parsing it for its declarations left out.
func (p *Program) SetOfFile(path string) (output.Set, error) {
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly|parser.ParseComments)
	if err != nil {
		return output.Set{}, err
	}
	return output.SetOf(filepath.Base(path), file), nil
}

// Programs are the packages that each main package of the module is built from.
func (p *Program) Programs(ctx context.Context) ([]map[string]bool, error) {
	mode := packages.NeedName | packages.NeedImports | packages.NeedDeps
	all := filepath.Join(files.ModuleRoot(p.Config.Dir), "...")
	roots, err := list(ctx, p.Config, mode, p.Config.home, false, []string{all})
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
