package ll1004

import (
	"go/ast"
	"path/filepath"

	"github.com/lockgen/lockgen/cmd/internal/directive"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/check"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/guards"
)

// A member names a function or a method of a package: owner is the receiver's type, "" for functions.
type member struct{ owner, name string }

// A declaration is one that lockgen has written: a wrapper or a RegisterJobs.
type declaration struct {
	decl  *ast.FuncDecl
	file  string                // base name
	made  directive.Fingerprint // zero if it has none
	known bool                  // it has a fingerprint
	taken bool                  // the function that it calls has a directive
}

// generatedCode is what lockgen has written for a package, and what it was written for.
type generatedCode struct {
	all       []*declaration           // those with fingerprints, in the order of the source
	byName    map[member]*declaration  // all of lockgen's
	registers bool                     // one is RegisterJobs
	people    map[member]*ast.FuncDecl // what people have written
	broken    []directive.Problem      // comments that should have been directives
}

// readGenerated reads lockgen's files. Nil if the package has neither such a file nor a directive.
func readGenerated(r *check.Reporter) *generatedCode {
	g := &generatedCode{byName: map[member]*declaration{}, people: map[member]*ast.FuncDecl{}}
	relevant := false
	for _, file := range r.Pass.Files {
		output := r.IsOutput(file)
		relevant = relevant || output || guards.MentionsDirective(file)
		name := filepath.Base(r.Pass.Fset.Position(file.Package).Filename)
		for _, decl := range file.Decls {
			fd, ok := decl.(*ast.FuncDecl)
			switch {
			case !ok:
			case output:
				g.add(fd, name)
			default:
				g.people[member{ownerOf(fd), fd.Name.Name}] = fd
			}
		}
	}
	if !relevant {
		return nil
	}
	return g
}

func (g *generatedCode) add(fd *ast.FuncDecl, file string) {
	d := &declaration{decl: fd, file: file}
	if fd.Doc != nil {
		d.made, d.known = directive.ParseFingerprint(fd.Doc.List[len(fd.Doc.List)-1].Text)
	}
	g.byName[member{ownerOf(fd), fd.Name.Name}] = d
	g.registers = g.registers || fd.Name.Name == "RegisterJobs" && d.made.Func == ""
	if d.known {
		g.all = append(g.all, d)
	}
}

// wrapperOf is the wrapper that was made for a function, else the declaration that has its name; nil if there is none.
func (g *generatedCode) wrapperOf(fn *directive.Func) *declaration {
	var found *declaration
	owner := ownerOf(fn.Decl)
	for _, d := range g.all {
		if ownerOf(d.decl) == owner && d.made.Func == fn.Decl.Name.Name {
			if found = d; d.decl.Name.Name == fn.Name {
				break
			}
		}
	}
	if found == nil {
		found = g.byName[member{owner, fn.Name}]
	}
	return found
}
