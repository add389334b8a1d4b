package guards

import (
	"fmt"
	"go/ast"
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"

	"github.com/lockgen/lockgen/cmd/internal/directive"
)

// Keys stands on packages with directives: what they lock, tests apart.
type Keys struct {
	Keys    []Key
	Imports []string // those among the packages it is built from that have keys, too
}

// AFact marks the type.
func (*Keys) AFact() {}

func (k *Keys) String() string { return fmt.Sprintf("keys(%d)", len(k.Keys)) }

// A Key is one of a function with a directive.
type Key struct {
	Function string // with the last element of its package
	Place    string // the file's name and the line
	Pattern  directive.Pattern
}

// An OwnKey is a key of the package that is looked at.
type OwnKey struct {
	Key
	Func *directive.Func
	Pos  token.Pos
	End  token.Pos
}

// Place says where something stands, with the name of the file alone.
func Place(pass *analysis.Pass) func(token.Pos) string {
	return func(pos token.Pos) string {
		at := pass.Fset.PositionFor(pos, false)
		return fmt.Sprintf("%s:%d", filepath.Base(at.Filename), at.Line)
	}
}

// findKeys collects the keys of the package's functions, those that can be understood, and tells importers.
func (d *Directives) findKeys(files []*ast.File, found []*directive.Found) {
	pass, place := d.p.Pass, Place(d.p.Pass)
	for i, f := range found {
		name := pass.Fset.PositionFor(files[i].Package, false).Filename
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		for _, a := range f.Funcs {
			fn, problems := directive.Bind(a.Directive, directive.Target{File: files[i], Filename: name, Decl: a.Decl, Pkg: pass.Pkg,
				Info: pass.TypesInfo, Generated: func(token.Pos) bool { return true }}) // names are not at issue
			if len(a.Problems)+len(problems) > 0 {
				continue // LL1005 says so
			}
			for _, key := range fn.Keys {
				if pattern, ok := fn.Pattern(key); ok {
					k := Key{pass.Pkg.Name() + "." + functionName(fn), place(key.Key.Pos), pattern}
					d.Own = append(d.Own, OwnKey{k, fn, key.Key.Pos, key.Key.End})
				}
			}
		}
	}
	if len(d.Own) == 0 && pass.Pkg.Name() != "main" {
		return
	}
	for _, f := range pass.AllPackageFacts() {
		if keys, ok := f.Fact.(*Keys); ok && f.Package != pass.Pkg {
			d.Imported[f.Package.Path()] = keys
		}
	}
	if len(d.Own) == 0 {
		return
	}
	fact := &Keys{Imports: slices.Sorted(maps.Keys(d.Imported))}
	for _, k := range d.Own {
		fact.Keys = append(fact.Keys, k.Key)
	}
	pass.ExportPackageFact(fact)
}

func functionName(fn *directive.Func) string {
	if fn.RecvType != "" {
		return fn.RecvType + "." + fn.Decl.Name.Name
	}
	return fn.Decl.Name.Name
}
