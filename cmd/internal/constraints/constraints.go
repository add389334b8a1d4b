// Package constraints reads under which build constraints the go command builds a file.
package constraints

import (
	"go/ast"
	"go/build/constraint"
	"slices"
	"strings"
)

// Of is the constraint of a file, from its name, its //go:build line and its imports. It is nil if there is none.
func Of(name string, file *ast.File) constraint.Expr {
	all := And(OfName(name), ofLines(file))
	if UsesCgo(file) {
		all = And(all, &constraint.TagExpr{Tag: "cgo"})
	}
	return all
}

// And is both of two constraints. Nil is one that always holds.
func And(x, y constraint.Expr) constraint.Expr {
	switch {
	case x == nil:
		return y
	case y == nil || x.String() == y.String():
		return x
	}
	return &constraint.AndExpr{X: x, Y: y}
}

// OfName is what the go command reads from a name such as queue_linux_amd64_test.go.
func OfName(name string) constraint.Expr {
	name, _, _ = strings.Cut(name, ".") // queue_linux.pb.go counts as well
	name = strings.TrimSuffix(name, "_test")
	words := strings.Split(name, "_")[1:] // the first word never counts: linux.go is built everywhere
	if n := len(words); n >= 2 && isOS(words[n-2]) && isArch(words[n-1]) {
		return And(&constraint.TagExpr{Tag: words[n-2]}, &constraint.TagExpr{Tag: words[n-1]})
	}
	if n := len(words); n >= 1 && Known(words[n-1]) {
		return &constraint.TagExpr{Tag: words[n-1]}
	}
	return nil
}

// ofLines is the //go:build constraint of a file, which stands above the package clause. A file without one may have lines
// // +build, which go vet no longer wants and the go command still obeys: all of them hold, and none is in the doc comment.
func ofLines(file *ast.File) constraint.Expr {
	var old constraint.Expr
	for _, group := range file.Comments {
		if group.Pos() > file.Package {
			break
		}
		for _, line := range group.List {
			isOld := constraint.IsPlusBuild(line.Text) && group != file.Doc
			if !isOld && !constraint.IsGoBuild(line.Text) {
				continue
			}
			expr, err := constraint.Parse(line.Text)
			switch {
			case err != nil:
			case isOld:
				old = And(old, expr)
			default:
				return expr
			}
		}
	}
	return old
}

// UsesCgo tells whether a file imports "C". Such files are left out where cgo is off, without saying so.
func UsesCgo(file *ast.File) bool {
	return slices.ContainsFunc(file.Imports, func(spec *ast.ImportSpec) bool { return spec.Path.Value == `"C"` })
}

// knownOS, knownArch: the names that the go command reads from a file name.
var knownOS = strings.Fields("aix android darwin dragonfly freebsd hurd illumos ios js linux nacl netbsd openbsd plan9 solaris " +
	"wasip1 windows zos")
var knownArch = strings.Fields("386 amd64 amd64p32 arm armbe arm64 arm64be loong64 mips mipsle mips64 mips64le mips64p32 " +
	"mips64p32le ppc ppc64 ppc64le riscv riscv64 s390 s390x sparc sparc64 wasm")

// Known tells whether a build tag names a system or an architecture.
func Known(tag string) bool { return isOS(tag) || isArch(tag) }

func isOS(tag string) bool   { return slices.Contains(knownOS, tag) }
func isArch(tag string) bool { return slices.Contains(knownArch, tag) }
