package directive

import (
	"go/ast"
	"go/token"
)

// A Found is what Find reads from one file.
type Found struct {
	Funcs    []*Annotated // functions with a directive, in source order, also those with problems
	Fenced   []*Mark      // //lock:fenced marks, in source order
	Problems []Problem    // of the file: look-alikes and misplaced directives; those of Funcs are with each of them
}

// An Annotated is a function with a //lock: directive in its doc comment.
type Annotated struct {
	Decl      *ast.FuncDecl
	Directive *Directive
	Problems  []Problem
}

// A Mark is a //lock:fenced line: what it stands on writes to a resource that fencing tokens protect.
type Mark struct {
	Pos, End token.Pos
	Node     ast.Node // *ast.FuncDecl, *ast.Field, *ast.TypeSpec, *ast.ValueSpec or *ast.GenDecl
}

// Find returns the directives of a file that was parsed with its comments, and every comment that looks like a
// directive but is not one.
func Find(file *ast.File) *Found { return &Found{} }
