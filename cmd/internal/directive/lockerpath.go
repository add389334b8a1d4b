package directive

import (
	"go/types"
	"strings"
)

// writtenLocker resolves the path of locker=. Receiver and parameters hide what the package declares, as in the body.
func (b *binder) writtenLocker(written *String) {
	b.lockerArg = written
	arg, path := written.Arg, strings.Split(written.Value, ".")
	from, index, p := b.root(path[0])
	if p != nil {
		b.f.Locker = Locker{From: from, Param: index, Fields: path[1:]}
		if p.Role == RoleFence || p.Role == RoleLease {
			b.at(arg, "locker",
				"locker=%s starts at %s, which exists only once the lock is held: name a field of the receiver or a package "+
					"variable", b.lockerArg.Value, path[0])
			return
		}
		b.selectLocker(b.types[p], path[1:])
		return
	}
	b.f.Locker = Locker{From: FromPackage, Var: path[0], Fields: path[1:]}
	if imported, pkg := b.imported(path[0]); imported != "" && len(path) > 1 && b.packageVar(path[0]) == nil {
		b.f.Locker = Locker{From: FromPackage, Pkg: pkg, Var: path[1], Fields: path[2:]}
		b.importedLocker(pkg, path)
		return
	}
	b.variable(path)
}

// packageLocker resolves the path that the defaults of the package name: it starts at a variable of the package, whatever
// the function calls its parameters.
func (b *binder) packageLocker(written *String) {
	b.lockerArg = written
	path := strings.Split(written.Value, ".")
	b.f.Locker = Locker{From: FromPackage, Var: path[0], Fields: path[1:]}
	b.variable(path)
}

// variable follows a path from a variable of the package.
func (b *binder) variable(path []string) {
	if b.Pkg == nil {
		b.f.NeedsTypes = true
		return
	}
	arg, obj := b.lockerArg.Arg, b.packageVar(path[0])
	if v, ok := obj.(*types.Var); ok {
		b.selectLocker(v.Type(), path[1:])
		return
	}
	if obj != nil {
		b.at(arg, "locker", "locker=%s names a %s: name a field of the receiver or a package variable of type %s",
			b.lockerArg.Value, kindOf(obj), lockerType)
		return
	}
	b.unknownLocker(path)
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

func (b *binder) importedLocker(pkg *types.Package, path []string) {
	if pkg == nil {
		b.f.NeedsTypes = true
		return
	}
	if v, ok := pkg.Scope().Lookup(path[1]).(*types.Var); ok && v.Exported() {
		b.selectLocker(v.Type(), path[2:])
		return
	}
	b.at(b.lockerArg.Arg, "locker", "locker=%s: package %s has no exported variable %s", b.lockerArg.Value, pkg.Path(),
		path[1])
}

// unknownLocker reports a path that starts nowhere, with what it may have meant: the receiver's field without the
// receiver, or a name that is nearly right.
func (b *binder) unknownLocker(path []string) {
	guess := ""
	if named := b.receiverNamed(); named != nil && b.f.Recv.Name != "" {
		if obj, _, _ := types.LookupFieldOrMethod(types.NewPointer(named), true, b.Pkg, path[0]); obj != nil {
			guess = b.f.Recv.Name + "." + b.lockerArg.Value
		}
	}
	if guess == "" {
		if root := Nearest(path[0], append(b.roots(), b.Pkg.Scope().Names()...)); root != "" {
			guess = strings.Join(append([]string{root}, path[1:]...), ".")
		}
	}
	p := b.at(b.lockerArg.Arg, "locker", "locker=%s: there is no receiver, parameter or package variable %s%s",
		b.lockerArg.Value, path[0], didYouMean(guess))
	if guess != "" {
		p.write(guess)
	}
}

// selectLocker follows the fields from a value of type t, writes embedded ones out, and wants a locker at the end.
func (b *binder) selectLocker(t types.Type, fields []string) {
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
			p := b.at(b.lockerArg.Arg, "locker", "locker=%s: %s has no field %s%s", b.lockerArg.Value, typeString(b.Pkg, t), name,
				didYouMean(guess))
			if guess != "" {
				p.write(replaceLast(b.lockerArg.Value, name, guess))
			}
			return
		}
		for _, s := range steps {
			path = append(path, s.Name)
		}
		t = next
	}
	b.f.Locker.Fields = path
	if unknown(t) {
		b.f.NeedsTypes = true
		return
	}
	if !isLocker(t) {
		b.at(b.lockerArg.Arg, "locker", "locker=%s has type %s: it must be a %s", b.lockerArg.Value, typeString(b.Pkg, t),
			lockerType)
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
