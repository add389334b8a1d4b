package decls

import (
	"go/ast"

	"github.com/lockgen/lockgen/cmd/internal/directive"
)

// An index finds the declarations of a package by name.
type index struct {
	files   []*ast.File
	objects map[string]*object
	methods map[string][]*ast.FuncDecl // by the name of the receiver's type
}

// An object is a declared name.
type object struct {
	file *ast.File
	fn   *ast.FuncDecl // or
	decl *ast.GenDecl
	spec ast.Spec
}

func newIndex(files []*ast.File) *index {
	x := &index{files: files, objects: map[string]*object{}, methods: map[string][]*ast.FuncDecl{}}
	for _, file := range files {
		for _, decl := range file.Decls {
			x.add(file, decl)
		}
	}
	for name := range x.methods {
		if base := x.aliased(name); base != name {
			x.methods[base] = append(x.methods[base], x.methods[name]...)
		}
	}
	return x
}

// aliased is what a name of a type stands for, in this package.
func (x *index) aliased(name string) string {
	for range 20 { // more are a circle
		o := x.objects[name]
		if o == nil {
			break
		}
		spec, ok := o.spec.(*ast.TypeSpec)
		if !ok || !spec.Assign.IsValid() {
			break
		}
		name = directive.ReceiverBase(spec.Type)
	}
	return name
}

func (x *index) add(file *ast.File, decl ast.Decl) {
	switch decl := decl.(type) {
	case *ast.FuncDecl:
		if decl.Recv == nil {
			x.objects[decl.Name.Name] = &object{file: file, fn: decl}
		} else if len(decl.Recv.List) == 1 {
			base := directive.ReceiverBase(decl.Recv.List[0].Type)
			x.methods[base] = append(x.methods[base], decl)
		}
	case *ast.GenDecl:
		for _, spec := range decl.Specs {
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				x.objects[spec.Name.Name] = &object{file: file, decl: decl, spec: spec}
			case *ast.ValueSpec:
				for _, name := range spec.Names {
					x.objects[name.Name] = &object{file: file, decl: decl, spec: spec}
				}
			}
		}
	}
}
