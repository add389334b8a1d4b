package directive

import (
	"go/ast"
	"go/token"
	"go/types"
	"path"
	"strconv"
	"strings"
)

// syntaxType is the type of a parameter as far as its text tells, nil if it does not. It knows predeclared types (which
// a package may hide in another file; the compiler then refuses the generated code), what is made of them, and the few
// named types that a directive treats on their own.
func (b *binder) syntaxType(p *Param) types.Type {
	if p.Variadic {
		return types.NewSlice(types.Typ[types.Int])
	}
	return b.exprType(p.Expr)
}

func (b *binder) exprType(expr ast.Expr) types.Type {
	switch e := ast.Unparen(expr).(type) {
	case *ast.Ident:
		if b.isTypeParam(e.Name) || b.firstDecl(e.Name).IsValid() {
			return nil
		}
		if obj, ok := types.Universe.Lookup(e.Name).(*types.TypeName); ok {
			return obj.Type()
		}
		return b.dotType(e.Name)
	case *ast.SelectorExpr:
		if x, ok := e.X.(*ast.Ident); ok {
			path, _ := b.imported(x.Name)
			return knownType(path, e.Sel.Name)
		}
	case *ast.StarExpr:
		if elem := b.exprType(e.X); elem != nil {
			return types.NewPointer(elem)
		}
	// What the elements are makes no difference to a key: none of these has a text.
	case *ast.ArrayType:
		if e.Len == nil {
			return types.NewSlice(types.Typ[types.Int])
		}
		return types.NewArray(types.Typ[types.Int], 1)
	case *ast.MapType:
		return types.NewMap(types.Typ[types.Int], types.Typ[types.Int])
	case *ast.ChanType:
		return types.NewChan(types.SendRecv, types.Typ[types.Int])
	case *ast.FuncType:
		return types.NewSignatureType(nil, nil, nil, nil, nil, false)
	}
	return nil
}

// dotType is a known type that a file with dot imports names without a qualifier.
func (b *binder) dotType(name string) types.Type {
	for _, spec := range b.File.Imports {
		if spec.Name != nil && spec.Name.Name == "." {
			if t := knownType(importPath(spec), name); t != nil {
				return t
			}
		}
	}
	return nil
}

// knownType represents a type that is recognized by its name: nothing looks inside it.
func knownType(pkg, name string) types.Type {
	var under types.Type = types.NewStruct(nil, nil)
	switch pkg + "." + name {
	case "context.Context":
		under = types.NewInterfaceType(nil, nil)
	case RuntimePath + ".Fence":
		under = types.Typ[types.Uint64]
	case "time.Time", RuntimePath + ".Lease", RuntimePath + ".Locker", "database/sql.DB", "database/sql.Tx":
	default:
		return nil
	}
	return types.NewNamed(types.NewTypeName(token.NoPos, types.NewPackage(pkg, path.Base(pkg)), name, nil), under, nil)
}

func importPath(spec *ast.ImportSpec) string {
	p, err := strconv.Unquote(spec.Path.Value)
	if err != nil {
		return ""
	}
	return p
}

// LikelyName is the name that a package most likely has, by its import path. A final /v2 is a version, not a name.
func LikelyName(importPath string) string {
	dir, base := path.Split(importPath)
	if digits, ok := strings.CutPrefix(base, "v"); ok && dir != "" {
		if _, err := strconv.ParseUint(digits, 10, 32); err == nil {
			return path.Base(dir)
		}
	}
	return base
}

// isNamed reports whether t is the type of that name, through aliases.
func isNamed(t types.Type, pkg, name string) bool {
	n, ok := types.Unalias(t).(*types.Named)
	return ok && n.Obj().Name() == name && n.Obj().Pkg() != nil && n.Obj().Pkg().Path() == pkg
}

func isPointerTo(t types.Type, pkg, name string) bool {
	p, ok := types.Unalias(t).(*types.Pointer)
	return ok && isNamed(p.Elem(), pkg, name)
}
