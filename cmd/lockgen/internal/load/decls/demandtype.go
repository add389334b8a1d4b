package decls

import (
	"go/ast"
	"go/token"

	"github.com/lockgen/lockgen/cmd/internal/directive"
)

// typeSpec demands what a type declaration refers to. Of a type that only has to be told from others nothing is looked
// at, unless it is another name for one of those.
func (w walker) typeSpec(spec *ast.TypeSpec, d depth) {
	if d == identity {
		if spec.Assign.IsValid() && !w.of.standard() {
			w.expr(spec.Type, identity)
		}
		return
	}
	if spec.TypeParams != nil {
		w.fieldTypes(spec.TypeParams, inside)
	}
	switch t := spec.Type.(type) {
	case *ast.StructType:
		for _, field := range t.Fields.List {
			if d := w.fieldDepth(field); d > 0 {
				w.expr(field.Type, d)
			}
		}
		if d == contents {
			w.holds(t.Fields)
		}
	case *ast.InterfaceType:
		for _, field := range t.Methods.List {
			if d := w.methodDepth(field); d > 0 {
				w.expr(field.Type, d)
			}
		}
	default:
		w.expr(spec.Type, inside)
		if d == contents {
			w.held(spec.Type)
		}
	}
	for _, method := range w.indexOf(w.of).methods[spec.Name.Name] {
		w.name(directive.ReceiverBase(method.Recv.List[0].Type), inside) // may be another name of the type
		if w.keepsMethod(method.Name.Name) {
			w.function(method.Type, inside)
		}
	}
}

// fieldDepth is how much of a field's type has to be known: all of it where a path may lead through the field, also by
// way of an embedded one; which type it is where it could be a locker under some name; else nothing.
func (r *reach) fieldDepth(field *ast.Field) depth {
	if len(field.Names) == 0 {
		return inside
	}
	for _, name := range field.Names {
		if r.fields[name.Name] {
			return inside
		}
	}
	e := ast.Unparen(field.Type)
	if star, ok := e.(*ast.StarExpr); ok {
		e = ast.Unparen(star.X)
	}
	switch e.(type) {
	case *ast.Ident, *ast.SelectorExpr, *ast.IndexExpr, *ast.IndexListExpr:
		return identity
	}
	return 0
}

// holds demands what values of fields, or of results, hold.
func (w walker) holds(list *ast.FieldList) {
	for _, field := range list.List {
		w.held(field.Type)
	}
}

// held demands all that is copied with a value of a type: what it points to is not.
func (w walker) held(e ast.Expr) {
	switch e := e.(type) {
	case *ast.Ident:
		w.name(e.Name, contents)
	case *ast.SelectorExpr:
		w.qualified(e, contents, 0)
	case *ast.ParenExpr:
		w.held(e.X)
	case *ast.ArrayType:
		if e.Len != nil {
			w.expr(e, identity)
			w.held(e.Elt)
		}
	case *ast.StructType:
		w.holds(e.Fields)
	case *ast.IndexExpr:
		w.instance(e.X, []ast.Expr{e.Index}, contents)
	case *ast.IndexListExpr:
		w.instance(e.X, e.Indices, contents)
	}
}

// keepsMethod tells whether the signature of a method matters: it gives keys their text, makes a type a lock, or the
// variable that holds the locker is made by calling it. Of the others the names are enough.
func (r *reach) keepsMethod(name string) bool {
	return name == "MarshalText" || name == "String" || name == "Lock" || name == "Unlock" || r.fields[name]
}

// methodDepth is how much has to be known of the element of an interface.
func (r *reach) methodDepth(field *ast.Field) depth {
	if len(field.Names) == 0 || r.keepsMethod(field.Names[0].Name) {
		return inside
	}
	return 0
}

// valueSpec demands the type of a variable, or of all constants that are declared together: one may repeat another.
func (w walker) valueSpec(decl *ast.GenDecl, spec *ast.ValueSpec, d depth) {
	specs := []ast.Spec{spec}
	if decl.Tok == token.CONST {
		specs = decl.Specs
	}
	for _, s := range specs {
		spec := s.(*ast.ValueSpec)
		if spec.Type != nil {
			w.expr(spec.Type, d)
		}
		for _, value := range spec.Values {
			if spec.Type == nil || decl.Tok == token.CONST {
				w.value(value, d)
			}
		}
	}
}

// value demands everything that an expression mentions outside of function bodies.
func (w walker) value(e ast.Expr, d depth) {
	ast.Inspect(e, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.BlockStmt:
			return false
		case *ast.SelectorExpr:
			if x, ok := node.X.(*ast.Ident); ok && w.imported(x.Name, node.Sel.Name, d, 0) {
				return false
			}
			w.fields[node.Sel.Name] = true
		case *ast.Ident:
			w.name(node.Name, d)
		}
		return true
	})
}

// expr demands the types that a type expression names. Elements, parameters and results are never looked into by a key.
func (w walker) expr(e ast.Expr, d depth) {
	switch e := e.(type) {
	case *ast.Ident:
		w.name(e.Name, d)
	case *ast.SelectorExpr:
		w.qualified(e, d, 0)
	case *ast.StarExpr:
		w.expr(e.X, d)
	case *ast.ParenExpr:
		w.expr(e.X, d)
	case *ast.Ellipsis:
		w.expr(e.Elt, d)
	case *ast.ArrayType:
		if e.Len != nil {
			w.value(e.Len, inside)
		}
		w.expr(e.Elt, identity)
	case *ast.MapType:
		w.expr(e.Key, identity)
		w.expr(e.Value, identity)
	case *ast.ChanType:
		w.expr(e.Value, identity)
	case *ast.FuncType:
		w.fieldTypes(e.Params, identity)
		if e.Results != nil {
			w.fieldTypes(e.Results, identity)
		}
	case *ast.StructType:
		w.fieldTypes(e.Fields, d)
	case *ast.InterfaceType:
		w.fieldTypes(e.Methods, d)
	case *ast.IndexExpr:
		w.instance(e.X, []ast.Expr{e.Index}, d)
	case *ast.IndexListExpr:
		w.instance(e.X, e.Indices, d)
	case *ast.UnaryExpr:
		w.expr(e.X, d)
	case *ast.BinaryExpr:
		w.expr(e.X, d)
		w.expr(e.Y, d)
	}
}

func (w walker) fieldTypes(list *ast.FieldList, d depth) {
	for _, field := range list.List {
		w.expr(field.Type, d)
	}
}

func (w walker) instance(generic ast.Expr, args []ast.Expr, d depth) {
	if sel, ok := ast.Unparen(generic).(*ast.SelectorExpr); ok {
		w.qualified(sel, d, len(args))
	} else {
		w.expr(generic, d)
	}
	for _, arg := range args {
		w.expr(arg, d)
	}
}

func (w walker) qualified(sel *ast.SelectorExpr, d depth, args int) {
	if x, ok := sel.X.(*ast.Ident); ok {
		w.imported(x.Name, sel.Sel.Name, d, args)
	}
}
