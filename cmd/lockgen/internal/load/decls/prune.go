package decls

import (
	"go/ast"
	"go/token"

	"github.com/lockgen/lockgen/cmd/internal/directive"
)

// pruned are the files of a package with what is needed of them. What is not is left out, or, where directives are,
// declared as something empty: a wrapper may not take its name.
func (r *reach) pruned(n *need) []*ast.File {
	var files []*ast.File
	for _, file := range r.indexOf(n).files {
		cut := *file
		cut.Decls = nil
		for _, decl := range file.Decls {
			if kept := r.prune(n, decl); kept != nil {
				cut.Decls = append(cut.Decls, kept)
			}
		}
		files = append(files, &cut)
	}
	return files
}

func (r *reach) prune(n *need, decl ast.Decl) ast.Decl {
	switch decl := decl.(type) {
	case *ast.FuncDecl:
		return r.pruneFunc(n, decl)
	case *ast.GenDecl:
		if decl.Tok == token.IMPORT {
			return decl
		}
		cut := *decl
		cut.Specs = nil
		for _, spec := range decl.Specs {
			if kept := r.pruneSpec(n, decl, spec); kept != nil {
				cut.Specs = append(cut.Specs, kept)
			}
		}
		if len(cut.Specs) > 0 {
			return &cut
		}
	}
	return nil
}

// pruneFunc keeps annotated functions and the methods that give keys their text. Of other methods the name is enough,
// and so it is of the functions beside directives.
func (r *reach) pruneFunc(n *need, fn *ast.FuncDecl) ast.Decl {
	switch {
	case n.keep[fn]:
		return fn
	case fn.Recv == nil && n.depths[fn.Name.Name] > 0:
		return fn
	case fn.Recv == nil && !n.rooted:
		return nil
	case fn.Recv != nil && (len(fn.Recv.List) != 1 || n.depths[directive.ReceiverBase(fn.Recv.List[0].Type)] < inside):
		return nil
	case fn.Recv != nil && r.keepsMethod(fn.Name.Name):
		return fn
	}
	return &ast.FuncDecl{Recv: fn.Recv, Name: fn.Name, Type: &ast.FuncType{Func: fn.Type.Func, Params: &ast.FieldList{}}}
}

func (r *reach) pruneSpec(n *need, decl *ast.GenDecl, spec ast.Spec) ast.Spec {
	switch spec := spec.(type) {
	case *ast.TypeSpec:
		return r.pruneType(n, spec)
	case *ast.ValueSpec:
		if n.needsValue(decl, spec) {
			return spec
		}
		if n.rooted {
			return emptyValue(decl.Tok, spec)
		}
	}
	return nil
}

// needsValue: constants that are declared together stay together.
func (n *need) needsValue(decl *ast.GenDecl, spec *ast.ValueSpec) bool {
	specs := []ast.Spec{spec}
	if decl.Tok == token.CONST {
		specs = decl.Specs
	}
	for _, s := range specs {
		for _, name := range s.(*ast.ValueSpec).Names {
			if n.depths[name.Name] > 0 {
				return true
			}
		}
	}
	return false
}

func emptyValue(tok token.Token, spec *ast.ValueSpec) *ast.ValueSpec {
	if tok == token.VAR {
		return &ast.ValueSpec{Names: spec.Names, Type: emptyStruct}
	}
	empty := &ast.ValueSpec{Names: spec.Names}
	for range spec.Names {
		empty.Values = append(empty.Values, &ast.BasicLit{ValuePos: spec.Pos(), Kind: token.INT, Value: "0"})
	}
	return empty
}

var (
	emptyStruct    = &ast.StructType{Fields: &ast.FieldList{}}
	emptyInterface = &ast.InterfaceType{Methods: &ast.FieldList{}}
)

// pruneType empties a type that is only to be told from others, and the fields and methods of one that is looked into
// as far as no path can lead there.
func (r *reach) pruneType(n *need, spec *ast.TypeSpec) ast.Spec {
	cut := *spec
	switch d := n.depths[spec.Name.Name]; {
	case d == 0 && !n.rooted:
		return nil
	case d >= inside:
		cut.Type = r.pruneFields(spec.Type, d)
	case d == identity && spec.Assign.IsValid() && !n.standard():
	default:
		cut.Assign, cut.Type, cut.TypeParams = token.NoPos, emptyStruct, unconstrained(spec.TypeParams)
	}
	return &cut
}

func (r *reach) pruneFields(e ast.Expr, d depth) ast.Expr {
	switch e := e.(type) {
	case *ast.StructType:
		cut := &ast.StructType{Struct: e.Struct, Fields: &ast.FieldList{}}
		for _, field := range e.Fields.List {
			if r.fieldDepth(field) == 0 && d < contents {
				field = &ast.Field{Names: field.Names, Type: emptyStruct}
			}
			cut.Fields.List = append(cut.Fields.List, field)
		}
		return cut
	case *ast.InterfaceType:
		cut := &ast.InterfaceType{Interface: e.Interface, Methods: &ast.FieldList{}}
		for _, field := range e.Methods.List {
			if r.methodDepth(field) == 0 {
				field = &ast.Field{Names: field.Names, Type: &ast.FuncType{Params: &ast.FieldList{}}}
			}
			cut.Methods.List = append(cut.Methods.List, field)
		}
		return cut
	}
	return e
}

func unconstrained(list *ast.FieldList) *ast.FieldList {
	if list == nil {
		return nil
	}
	cut := &ast.FieldList{Opening: list.Opening, Closing: list.Closing}
	for _, field := range list.List {
		cut.List = append(cut.List, &ast.Field{Names: field.Names, Type: emptyInterface})
	}
	return cut
}
