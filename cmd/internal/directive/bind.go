package directive

import (
	"go/ast"
	"go/token"
	"go/types"
)

// Bind checks a directive against its function and says what the wrapper looks like. The result is never nil; where
// problems are returned it holds what was understood. Problems that Parse has returned are not repeated.
func Bind(d *Directive, t Target) (*Func, []Problem) {
	b := &binder{Target: t, d: d, f: &Func{Directive: d, Decl: t.Decl}}
	if t.Info != nil {
		if obj, ok := t.Info.Defs[t.Decl.Name].(*types.Func); ok {
			b.sig = obj.Signature()
			if b.Pkg == nil {
				b.Pkg = obj.Pkg()
			}
		}
	}
	b.constants()
	b.signature()
	b.wrapper()
	b.locker()
	b.tx()
	for _, k := range d.Keys {
		b.f.Keys = append(b.f.Keys, b.key(k))
	}
	return b.f, b.sorted()
}

// A binder holds what Bind is about to return.
type binder struct {
	Target
	d     *Directive
	f     *Func
	sig   *types.Signature      // nil without type information
	types map[*Param]types.Type // of the parameters and the receiver, also those known from the syntax alone
	problems
}

// whole reports a problem that is the function's rather than an option's: the first line stands for it.
func (b *binder) whole(slug, format string, args ...any) *Problem {
	return b.add(b.d.Pos(), b.d.End(), slug, format, args...)
}

// at reports a problem of an option's value.
func (b *binder) at(a Arg, slug, format string, args ...any) *Problem {
	return b.add(a.ValuePos, a.ValueEnd, slug, format, args...)
}

// fn is the function's name for messages.
func (b *binder) fn() string { return b.Decl.Name.Name }

// roots are the names that a path may start with.
func (b *binder) roots() []string {
	var names []string
	if b.f.Recv != nil {
		names = append(names, b.f.Recv.Name)
	}
	for _, p := range b.f.Params {
		names = append(names, p.Name)
	}
	return names
}

// root finds the receiver or parameter of a name.
func (b *binder) root(name string) (from Origin, index int, p *Param) {
	if r := b.f.Recv; r != nil && r.Name == name && name != "" {
		return FromReceiver, 0, r
	}
	for i, p := range b.f.Params {
		if p.Name == name && name != "" {
			return FromParam, i, p
		}
	}
	return 0, 0, nil
}

// imported finds the package that a file calls by a name: the one that its code may call so, else one that it imports
// with a blank, which only directives name. Packages without a written name are found by their real name if there is
// type information, else by the last element of their path.
func (b *binder) imported(name string) (path string, pkg *types.Package) {
	for _, spec := range b.File.Imports {
		at := importPath(spec)
		imported := b.importedPackage(at)
		local := LikelyName(at)
		if imported != nil {
			local = imported.Name()
		}
		blank := spec.Name != nil && spec.Name.Name == "_"
		if spec.Name != nil && !blank {
			local = spec.Name.Name
		}
		if local == name && !blank {
			return at, imported
		}
		if local == name && path == "" {
			path, pkg = at, imported
		}
	}
	return path, pkg
}

// dotImported is the packages that the file imports with a dot, those that there is type information for.
func (b *binder) dotImported() []*types.Package {
	var pkgs []*types.Package
	for _, spec := range b.File.Imports {
		if spec.Name != nil && spec.Name.Name == "." {
			if pkg := b.importedPackage(importPath(spec)); pkg != nil {
				pkgs = append(pkgs, pkg)
			}
		}
	}
	return pkgs
}

func (b *binder) importedPackage(path string) *types.Package {
	if b.Pkg != nil {
		for _, pkg := range b.Pkg.Imports() {
			if pkg.Path() == path {
				return pkg
			}
		}
	}
	return nil
}

// firstDecl is the position at which a name is declared at the top of the file, for when there is no type information.
func (b *binder) firstDecl(name string) token.Pos {
	for _, decl := range b.File.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			if decl.Recv == nil && decl.Name.Name == name {
				return decl.Pos()
			}
		case *ast.GenDecl:
			for _, spec := range decl.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					if spec.Name.Name == name {
						return spec.Pos()
					}
				case *ast.ValueSpec:
					for _, id := range spec.Names {
						if id.Name == name {
							return id.Pos()
						}
					}
				}
			}
		}
	}
	return token.NoPos
}
