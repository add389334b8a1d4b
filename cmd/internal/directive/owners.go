package directive

import (
	"go/ast"
	"go/token"
)

// owner is the declaration that a comment documents or trails, nil if there is none.
func (f *finder) owner(group *ast.CommentGroup) ast.Node {
	if f.owners == nil {
		f.owners = owners(f.file)
	}
	return f.owners[group]
}

// owners says what each comment of a file stands on.
func owners(file *ast.File) map[*ast.CommentGroup]ast.Node {
	m := map[*ast.CommentGroup]ast.Node{}
	own := func(node ast.Node, groups ...*ast.CommentGroup) {
		for _, g := range groups {
			if g != nil {
				m[g] = node
			}
		}
	}
	own(file, file.Doc)
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			own(n, n.Doc)
		case *ast.GenDecl:
			own(n, n.Doc)
		case *ast.TypeSpec:
			own(n, n.Doc, n.Comment)
		case *ast.ValueSpec:
			own(n, n.Doc, n.Comment)
		case *ast.ImportSpec:
			own(n, n.Doc, n.Comment)
		case *ast.Field:
			own(n, n.Doc, n.Comment)
		}
		return true
	})
	return m
}

// where says where a comment stands, for the message that it has no effect there.
func (f *finder) where(group *ast.CommentGroup) string {
	for _, decl := range f.file.Decls {
		if fn, ok := decl.(*ast.FuncDecl); ok && fn.Pos() <= group.Pos() && group.End() <= fn.End() {
			return "inside function " + fn.Name.Name
		}
	}
	switch n := f.owner(group).(type) {
	case *ast.File:
		return "above the package clause"
	case *ast.FuncDecl:
		return "above function " + n.Name.Name
	case *ast.GenDecl:
		return "above " + declaration(n.Tok)
	case *ast.TypeSpec:
		return "at type " + n.Name.Name
	case *ast.ValueSpec:
		return "at the declaration of " + n.Names[0].Name
	case *ast.ImportSpec:
		return "at an import"
	case *ast.Field:
		return "at " + fieldName(n)
	}
	if fn := f.following(group); fn != nil {
		return "a blank line separates it from function " + fn.Name.Name
	}
	return "it stands alone"
}

func declaration(tok token.Token) string {
	switch tok {
	case token.TYPE:
		return "a declaration of a type"
	case token.VAR:
		return "a declaration of a variable"
	case token.CONST:
		return "a declaration of a constant"
	}
	return "an import"
}

func fieldName(field *ast.Field) string {
	if len(field.Names) == 0 {
		return "an embedded field"
	}
	if _, ok := field.Type.(*ast.FuncType); ok {
		return "method " + field.Names[0].Name + " of an interface, which has no body to lock"
	}
	return "field " + field.Names[0].Name
}

// following is the function that comes next after a comment, nil if something else does.
func (f *finder) following(group *ast.CommentGroup) *ast.FuncDecl {
	for _, decl := range f.file.Decls {
		if decl.Pos() > group.End() {
			fn, _ := decl.(*ast.FuncDecl)
			return fn
		}
	}
	return nil
}
