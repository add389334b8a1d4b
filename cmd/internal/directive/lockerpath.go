package directive

import (
	"go/types"
	"strings"
)

// A pathArg is the value of an option that says where the wrapper finds something.
type pathArg struct {
	*binder
	option string // also the kind of its problems
	arg    *String
	into   *Source
	is     func(types.Type) bool // what it must lead to
	want   string                // that in words
}

func (b *binder) pathTo(option string, arg *String, into *Source, is func(types.Type) bool, want string) *pathArg {
	return &pathArg{b, option, arg, into, is, want}
}

// problem reports a problem of the path; the format begins behind option=path.
func (b *pathArg) problem(format string, args ...any) *Problem {
	return b.at(b.arg.Arg, b.option, "%s=%s"+format, append([]any{b.option, b.arg.Value}, args...)...)
}

// resolve follows a path that a function says. Receiver and parameters hide what the package declares, as in the body.
func (b *pathArg) resolve() {
	path := strings.Split(b.arg.Value, ".")
	from, index, p := b.root(path[0])
	if p != nil {
		*b.into = Source{From: from, Param: index, Fields: path[1:]}
		if p.Injected() {
			b.problem(" starts at %s, which exists only once the lock is held: name a field of the receiver or a package variable",
				path[0])
			return
		}
		b.follow(b.types[p], path[1:])
		return
	}
	*b.into = Source{From: FromPackage, Var: path[0], Fields: path[1:]}
	if imported, pkg := b.imported(path[0]); imported != "" && len(path) > 1 && b.packageVar(path[0]) == nil {
		*b.into = Source{From: FromPackage, Pkg: pkg, Var: path[1], Fields: path[2:]}
		b.inImported(pkg, path)
		return
	}
	b.variable(path)
}

// resolveInPackage follows a path that the defaults of the package name: it starts at a variable of the package, whatever
// the function calls its parameters.
func (b *pathArg) resolveInPackage() {
	path := strings.Split(b.arg.Value, ".")
	*b.into = Source{From: FromPackage, Var: path[0], Fields: path[1:]}
	b.variable(path)
}

// variable follows a path from a variable of the package.
func (b *pathArg) variable(path []string) {
	if b.Pkg == nil {
		b.f.NeedsTypes = true
		return
	}
	obj := b.packageVar(path[0])
	if v, ok := obj.(*types.Var); ok {
		b.follow(v.Type(), path[1:])
		return
	}
	if obj != nil {
		b.problem(" names a %s: name a field of the receiver or a package variable of type %s", kindOf(obj), b.want)
		return
	}
	b.unknown(path)
}

func (b *binder) packageVar(name string) types.Object {
	if b.Pkg == nil {
		return nil
	}
	if obj := b.Pkg.Scope().Lookup(name); obj != nil {
		return obj
	}
	return b.dotObject(name)
}

func (b *pathArg) inImported(pkg *types.Package, path []string) {
	if pkg == nil {
		b.f.NeedsTypes = true
		return
	}
	if v, ok := pkg.Scope().Lookup(path[1]).(*types.Var); ok && v.Exported() {
		b.follow(v.Type(), path[2:])
		return
	}
	b.problem(": package %s has no exported variable %s", pkg.Path(), path[1])
}

// unknown reports a path that starts nowhere, with what it may have meant: the receiver's field without the
// receiver, or a name that is nearly right.
func (b *pathArg) unknown(path []string) {
	guess := ""
	if named := b.receiverNamed(); named != nil && b.f.Recv.Name != "" {
		if obj, _, _ := types.LookupFieldOrMethod(types.NewPointer(named), true, b.Pkg, path[0]); obj != nil {
			guess = b.f.Recv.Name + "." + b.arg.Value
		}
	}
	if guess == "" {
		if root := Nearest(path[0], append(b.roots(), b.Pkg.Scope().Names()...)); root != "" {
			guess = strings.Join(append([]string{root}, path[1:]...), ".")
		}
	}
	p := b.problem(": there is no receiver, parameter or package variable %s%s", path[0], didYouMean(guess))
	if guess != "" {
		p.write(guess)
	}
}

// follow selects the fields from a value of type t, writes embedded ones out, and looks at what is there at the end.
func (b *pathArg) follow(t types.Type, fields []string) {
	if unknown(t) || b.Pkg == nil && len(fields) > 0 {
		b.f.NeedsTypes = true
		return
	}
	var path []string
	for _, name := range fields {
		steps, next, _ := b.selectField(t, name)
		if next == nil && (unknown(t) || b.mayPromote(t)) {
			b.f.NeedsTypes = true
			return
		}
		if next == nil {
			guess := Nearest(name, b.fieldNames(t))
			p := b.problem(": %s has no field %s%s", typeString(b.Pkg, t), name, didYouMean(guess))
			if guess != "" {
				p.write(replaceLast(b.arg.Value, name, guess))
			}
			return
		}
		for _, s := range steps {
			path = append(path, s.Name)
		}
		t = next
	}
	b.into.Fields = path
	if unknown(t) {
		b.f.NeedsTypes = true
		return
	}
	if !b.is(t) {
		b.problem(" has type %s: it must be a %s%s", typeString(b.Pkg, t), b.want, poolOfPgx(t))
	}
}

// replaceLast puts another name in place of the last element of that name in a dotted path.
func replaceLast(path, name, by string) string {
	names := strings.Split(path, ".")
	for i := len(names) - 1; i >= 0; i-- {
		if names[i] == name {
			names[i] = by
			break
		}
	}
	return strings.Join(names, ".")
}

// typeString is a type as it is written in a package.
func typeString(pkg *types.Package, t types.Type) string {
	text := types.TypeString(t, types.RelativeTo(pkg))
	return strings.NewReplacer(" /* type parameter */", "", "/* type parameter */", "").Replace(text)
}
