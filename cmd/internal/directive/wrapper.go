package directive

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// WrapperName is the name of the wrapper of a function: written (the value of func=) if it is not "", else the
// function's name without the suffix Locked, else with the suffix WithLock.
func WrapperName(function, written string) string {
	if written != "" {
		return written
	}
	if short := shortName(function); short != function {
		return short
	}
	return function + "WithLock"
}

// JobName is the name of a scheduled job: what job= says, else the import path of its package and the function, or the
// type and the method, without the suffix Locked. Two packages of one name do not share a job.
func (f *Func) JobName(importPath string) string {
	if f.Directive.Job != nil {
		return f.Directive.Job.Value
	}
	importPath, _, _ = strings.Cut(importPath, " ") // of a package with its tests
	return strings.Join(slices.DeleteFunc([]string{importPath, f.RecvType, shortName(f.Decl.Name.Name)},
		func(s string) bool { return s == "" }), ".")
}

// shortName is a function's name without the suffix that says that the lock is held.
func shortName(function string) string {
	if short, ok := strings.CutSuffix(function, "Locked"); ok && short != "" {
		return short
	}
	return function
}

// wrapper names the wrapper and checks that the name can be declared.
func (b *binder) wrapper() {
	written := ""
	if b.d.Func != nil {
		written = b.d.Func.Value
	}
	b.f.Name = WrapperName(b.fn(), written)
	switch {
	case b.fn() == "_" || b.fn() == "init" && b.Decl.Recv == nil:
		b.whole("wrapper-name",
			"function %s cannot be called, so a wrapper cannot call it: move the code to a function with a name", b.fn())
		return
	case b.f.Name == b.fn():
		b.named("wrapper-name", "the wrapper would have the name of %s itself: choose another with func=", b.fn())
		return
	case !usableIdent(b.f.Name) || b.Decl.Recv == nil &&
		(b.f.Name == "init" || b.f.Name == "main" && b.File.Name.Name == "main"):
		b.named("wrapper-name", "the wrapper of %s would be called %s, which Go keeps for itself: choose a name with func=",
			b.fn(), b.f.Name)
		return
	}
	if b.reserved() {
		return
	}
	if b.Decl.Recv == nil && types.Universe.Lookup(b.f.Name) != nil {
		b.named("wrapper-name",
			"the wrapper of %s would be called %s and hide Go's own %s in the whole package: choose a name with func=", b.fn(),
			b.f.Name, b.f.Name)
		return
	}
	if at := b.taken(b.f.Name); at.IsValid() && (b.Generated == nil || !b.Generated(at)) {
		b.named("name-clash", "the wrapper of %s would be called %s, and %s: choose another name with func=", b.fn(),
			b.f.Name, b.holder())
	}
}

// named reports a problem of the wrapper's name where that was written, else on the whole.
func (b *binder) named(slug, format string, args ...any) {
	if b.d.Func != nil {
		b.at(b.d.Func.Arg, slug, format, args...)
		return
	}
	b.whole(slug, format, args...)
}

func (b *binder) holder() string {
	if named := b.receiverNamed(); named != nil {
		_, index, _ := types.LookupFieldOrMethod(types.NewPointer(named), true, b.Pkg, b.f.Name)
		if s, ok := named.Underlying().(*types.Struct); ok && len(index) > 1 {
			return fmt.Sprintf("type %s has a field or method of that name from the embedded %s, which it would hide",
				b.f.RecvType, s.Field(index[0]).Name())
		}
	}
	if b.f.RecvType != "" {
		return "type " + b.f.RecvType + " has a field or method of that name"
	}
	return "the package declares that name already"
}

// taken is where the wrapper's name is declared already. What is promoted counts: the wrapper would hide it, and callers
// of the embedded type's method would get another one without a word.
func (b *binder) taken(name string) token.Pos {
	if b.Decl.Recv == nil {
		if b.Pkg != nil && b.Info != nil {
			return posOf(b.Pkg.Scope().Lookup(name))
		}
		return b.firstDecl(name)
	}
	if named := b.receiverNamed(); named != nil {
		obj, _, _ := types.LookupFieldOrMethod(types.NewPointer(named), true, b.Pkg, name)
		return posOf(obj)
	}
	for _, decl := range b.File.Decls {
		fn, ok := decl.(*ast.FuncDecl)
		if ok && fn.Recv != nil && len(fn.Recv.List) > 0 && fn.Name.Name == name &&
			ReceiverBase(fn.Recv.List[0].Type) == b.f.RecvType {
			return fn.Pos()
		}
	}
	return token.NoPos
}

func posOf(obj types.Object) token.Pos {
	if obj == nil {
		return token.NoPos
	}
	return obj.Pos()
}

// receiverNamed is the receiver's type without pointer, nil if it is not known.
func (b *binder) receiverNamed() *types.Named {
	if b.f.Recv == nil || b.f.Recv.Type == nil {
		return nil
	}
	t := types.Unalias(b.f.Recv.Type)
	if p, ok := t.(*types.Pointer); ok {
		t = types.Unalias(p.Elem())
	}
	named, _ := t.(*types.Named)
	return named
}
