package gen

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"strings"
	"time"
)

// standIns take the place of packages whose declarations nobody has read. Every name of theirs that a file mentions is
// a type with nothing in it, which is wrong about most and yet enough: such a type is no context, no lease, no locker and
// no error, and a key that reads anything of it is refused here and looked at again with the real one. The few names
// that directives treat on their own are as they really are.
type standIns struct {
	packages map[string]*types.Package
}

func newStandIns() *standIns { return &standIns{map[string]*types.Package{}} }

// standard are the first elements of the import paths of the standard library.
var standard = set1("archive bufio bytes cmp compress container context crypto database debug embed encoding errors expvar " +
	"flag fmt go hash html image index io iter log maps math mime net os path plugin reflect regexp runtime slices sort " +
	"strconv strings structs sync syscall testing text time unicode unique unsafe weak")

func isStandard(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return standard[first]
}

// of is the stand-in of a package.
func (s *standIns) of(path string) *types.Package {
	if pkg := s.packages[path]; pkg != nil {
		return pkg
	}
	pkg := types.NewPackage(path, likelyName(path))
	s.packages[path] = pkg
	switch path {
	case "context":
		declare(pkg, "Context", types.NewInterfaceType(nil, nil))
	case "time":
		duration := declare(pkg, "Duration", types.Typ[types.Int64])
		for name, value := range map[string]time.Duration{"Nanosecond": time.Nanosecond, "Microsecond": time.Microsecond,
			"Millisecond": time.Millisecond, "Second": time.Second, "Minute": time.Minute, "Hour": time.Hour} {
			pkg.Scope().Insert(types.NewConst(token.NoPos, pkg, name, duration, constant.MakeInt64(int64(value))))
		}
	case runtimePath:
		declare(pkg, "Fence", types.Typ[types.Uint64])
	}
	pkg.MarkComplete()
	return pkg
}

func declare(pkg *types.Package, name string, underlying types.Type) *types.Named {
	object := types.NewTypeName(token.NoPos, pkg, name, nil)
	pkg.Scope().Insert(object)
	return types.NewNamed(object, underlying, nil)
}

// A mention is a name of another package and how many type arguments follow it.
type mention struct {
	name string
	args int
}

// add declares the names that are mentioned.
func (s *standIns) add(pkg *types.Package, found []mention) {
	for _, m := range found {
		if pkg.Scope().Lookup(m.name) != nil {
			continue
		}
		named := declare(pkg, m.name, types.NewStruct(nil, nil))
		var params []*types.TypeParam
		for range m.args {
			name := types.NewTypeName(token.NoPos, pkg, "T"+itoa(len(params)+1), nil)
			params = append(params, types.NewTypeParam(name, types.Universe.Lookup("any").Type()))
		}
		named.SetTypeParams(params)
	}
}

// selected is what stands as x.Name outside of function bodies, by x.
func selected(file *ast.File) map[string][]mention {
	found := map[string][]mention{}
	note := func(e ast.Expr, args int) {
		if sel, ok := e.(*ast.SelectorExpr); ok {
			if x, ok := sel.X.(*ast.Ident); ok {
				found[x.Name] = append(found[x.Name], mention{sel.Sel.Name, args})
			}
		}
	}
	for _, decl := range file.Decls {
		ast.Inspect(decl, func(node ast.Node) bool {
			switch node := node.(type) {
			case *ast.BlockStmt:
				return false
			case *ast.IndexExpr: // before its parts, so that the number of arguments is known first
				note(node.X, 1)
			case *ast.IndexListExpr:
				note(node.X, len(node.Indices))
			case *ast.SelectorExpr:
				note(node, 0)
			}
			return true
		})
	}
	return found
}
