package render

import (
	"go/ast"
	"go/token"
	"go/types"

	"github.com/dave/jennifer/jen"

	"github.com/lockgen/lockgen/cmd/internal/directive"
)

// A copier writes types as the source does, with every package called by the name it has in the generated file. The
// syntax is copied, not the type: the reader finds what he wrote, and a type that could not be checked is still
// written.
type copier struct {
	info    *types.Info
	local   *types.Package
	renamed map[string]string // type parameters that could not keep their name
}

func (c *copier) expr(e ast.Expr) *jen.Statement {
	switch e := e.(type) {
	case *ast.Ident:
		return c.ident(e)
	case *ast.SelectorExpr:
		if x, ok := e.X.(*ast.Ident); ok {
			if pkg, ok := c.info.Uses[x].(*types.PkgName); ok {
				return jen.Qual(pkg.Imported().Path(), e.Sel.Name)
			}
		}
		return c.expr(e.X).Dot(e.Sel.Name)
	case *ast.StarExpr:
		return jen.Op("*").Add(c.expr(e.X))
	case *ast.ParenExpr:
		return jen.Parens(c.expr(e.X))
	case *ast.ArrayType:
		if e.Len == nil {
			return jen.Index().Add(c.expr(e.Elt))
		}
		return jen.Index(c.expr(e.Len)).Add(c.expr(e.Elt))
	case *ast.Ellipsis:
		if e.Elt == nil { // the length of an array literal
			return jen.Op("...")
		}
		return jen.Op("...").Add(c.expr(e.Elt))
	case *ast.MapType:
		return jen.Map(c.expr(e.Key)).Add(c.expr(e.Value))
	case *ast.ChanType:
		return c.channel(e)
	case *ast.FuncType:
		return jen.Func().Add(c.signature(e))
	case *ast.StructType:
		return block("struct", c.fields(e.Fields))
	case *ast.InterfaceType:
		return block("interface", c.methods(e.Methods))
	case *ast.IndexExpr:
		return c.expr(e.X).Index(c.expr(e.Index))
	case *ast.IndexListExpr:
		return c.expr(e.X).Index(jen.List(c.list(e.Indices)...))
	case *ast.UnaryExpr:
		return jen.Op(e.Op.String()).Add(c.expr(e.X))
	case *ast.BinaryExpr:
		return c.expr(e.X).Op(e.Op.String()).Add(c.expr(e.Y))
	case *ast.CallExpr:
		return c.expr(e.Fun).Call(c.list(e.Args)...)
	case *ast.BasicLit:
		return jen.Id(e.Value)
	}
	return jen.Id(types.ExprString(e))
}

func (c *copier) ident(e *ast.Ident) *jen.Statement {
	if name, ok := c.renamed[e.Name]; ok {
		return jen.Id(name)
	}
	if obj := c.info.Uses[e]; obj != nil && dotImported(obj, c.local) {
		return jen.Qual(obj.Pkg().Path(), obj.Name())
	}
	return jen.Id(e.Name)
}

func (c *copier) list(exprs []ast.Expr) []jen.Code {
	codes := make([]jen.Code, len(exprs))
	for i, e := range exprs {
		codes[i] = c.expr(e)
	}
	return codes
}

func (c *copier) channel(e *ast.ChanType) *jen.Statement {
	switch e.Dir {
	case ast.SEND:
		return jen.Chan().Op("<-").Add(c.expr(e.Value))
	case ast.RECV:
		return jen.Op("<-").Chan().Add(c.expr(e.Value))
	}
	return jen.Chan().Add(c.expr(e.Value))
}

// signature is the parameters and results of a function type, names included.
func (c *copier) signature(e *ast.FuncType) *jen.Statement {
	s := jen.Params(c.params(e.Params)...)
	if e.Results == nil {
		return s
	}
	if results := e.Results.List; len(results) == 1 && len(results[0].Names) == 0 {
		return s.Add(c.expr(results[0].Type))
	}
	return s.Params(c.params(e.Results)...)
}

func (c *copier) params(list *ast.FieldList) []jen.Code {
	var codes []jen.Code
	if list == nil {
		return nil
	}
	for _, field := range list.List {
		codes = append(codes, named(directive.IdentNames(field.Names), c.expr(field.Type)))
	}
	return codes
}

// named is "a, b T", or T where there are no names.
func named(idents []string, typ *jen.Statement) *jen.Statement {
	var codes []jen.Code
	for _, name := range idents {
		codes = append(codes, jen.Id(name))
	}
	if len(codes) == 0 {
		return typ
	}
	return jen.List(codes...).Add(typ)
}

// block is a struct or interface type on one line. The formatter breaks longer ones.
func block(keyword string, elements []jen.Code) *jen.Statement {
	if len(elements) == 0 {
		return jen.Id(keyword + "{}")
	}
	return jen.Custom(jen.Options{Open: keyword + "{ ", Close: " }", Separator: "; "}, elements...)
}

func (c *copier) fields(list *ast.FieldList) []jen.Code {
	var codes []jen.Code
	for _, field := range list.List {
		code := named(directive.IdentNames(field.Names), c.expr(field.Type))
		if field.Tag != nil {
			code.Id(field.Tag.Value)
		}
		codes = append(codes, code)
	}
	return codes
}

func (c *copier) methods(list *ast.FieldList) []jen.Code {
	var codes []jen.Code
	for _, field := range list.List {
		if fn, ok := field.Type.(*ast.FuncType); ok && len(field.Names) == 1 {
			codes = append(codes, jen.Id(field.Names[0].Name).Add(c.signature(fn)))
			continue
		}
		codes = append(codes, c.expr(field.Type))
	}
	return codes
}

// plainNames are the identifiers of an expression that stand for something of the package itself or of the universe. A
// parameter of such a name would hide it.
func plainNames(e ast.Node, info *types.Info) []string {
	var found []string
	ast.Inspect(e, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.SelectorExpr:
			if x, ok := node.X.(*ast.Ident); ok {
				if _, ok := info.Uses[x].(*types.PkgName); ok {
					return false
				}
			}
		case *ast.Ident:
			if node.Name != "_" && node.NamePos != token.NoPos {
				found = append(found, node.Name)
			}
		}
		return true
	})
	return found
}
