package directive

import (
	"go/constant"
	"go/types"
	"strings"
	"time"
)

// constants resolves the references @Const and checks what they are worth, then the options that had to wait for it.
func (b *binder) constants() {
	for i := range options {
		o := &options[i]
		for _, v := range o.values(b.d) {
			if v.Constant() != nil {
				b.constantOf(o, v)
			}
		}
	}
	b.conflicts(b.d, true)
	b.schedule(b.d, true)
}

// constantOf resolves the reference of one value.
func (b *binder) constantOf(o *option, v OptionValue) {
	switch v := v.(type) {
	case *Duration:
		b.durationConst(o, v)
	case *String:
		b.textConst(o, v)
	case *Int:
		b.intConst(o, v)
	case *Key:
		b.keyConst(v)
	}
}

// resolve finds the constant of a reference. Without type information it stays unknown, and that is no problem.
func (b *binder) resolve(c *ConstRef) *types.Const {
	c.Object = nil
	if b.Pkg == nil {
		b.f.NeedsTypes = true
		return nil
	}
	scope, where := b.scopeOf(c)
	if scope == nil {
		return nil
	}
	obj := scope.Lookup(c.Name)
	if obj == nil && c.Pkg == "" {
		obj = b.dotObject(c.Name)
	}
	switch obj := obj.(type) {
	case *types.Const:
		if c.Pkg != "" && !obj.Exported() {
			b.constant(c, "%s is not exported by %s: name a constant that is", c.Name, where)
			return nil
		}
		if obj.Val().Kind() == constant.Unknown {
			b.f.NeedsTypes = true
			return nil
		}
		return obj
	case nil:
		guess := Nearest(c.Name, constNames(scope, c.Pkg != ""))
		p := b.constant(c, "%s has no constant %s%s", where, c.Name, didYouMean(guess))
		if guess != "" {
			p.write((&ConstRef{Pkg: c.Pkg, Name: guess}).String())
		}
	default:
		b.constant(c, "%s is a %s, and only a constant is known when code is generated: declare it with const", c.Name,
			kindOf(obj))
	}
	return nil
}

// scopeOf is the scope in which a reference is looked up, and what messages call it; nil if it is not there or not known.
func (b *binder) scopeOf(c *ConstRef) (scope *types.Scope, where string) {
	if c.Pkg == "" {
		return b.Pkg.Scope(), "this package"
	}
	path, pkg := b.imported(c.Pkg)
	switch {
	case path == "":
		b.constant(c, "this file imports no package %s: import it (as _ if only directives name it), or name a constant "+
			"of this package", c.Pkg)
		return nil, ""
	case pkg == nil, !pkg.Complete(): // or made up by the type checker, which could not import it
		b.f.NeedsTypes = true
		return nil, ""
	}
	return pkg.Scope(), "package " + path
}

// constant reports a problem with a reference.
func (b *binder) constant(c *ConstRef, format string, args ...any) *Problem {
	return b.add(c.Pos, c.End, "constant", "%s cannot be used: "+format, append([]any{c}, args...)...)
}

func (b *binder) dotObject(name string) types.Object {
	for _, pkg := range b.dotImported() {
		if obj := pkg.Scope().Lookup(name); obj != nil && obj.Exported() {
			return obj
		}
	}
	return nil
}

func constNames(scope *types.Scope, exported bool) []string {
	var names []string
	for _, name := range scope.Names() {
		if c, ok := scope.Lookup(name).(*types.Const); ok && (c.Exported() || !exported) {
			names = append(names, name)
		}
	}
	return names
}

func kindOf(obj types.Object) string {
	switch obj.(type) {
	case *types.Var:
		return "variable"
	case *types.Const:
		return "constant"
	case *types.TypeName:
		return "type"
	}
	return "function"
}

// durationConst wants the type time.Duration: an untyped 30 would become 30 ns without a word.
func (b *binder) durationConst(o *option, d *Duration) {
	c := b.resolve(d.Const)
	if c == nil {
		return
	}
	n, exact := constant.Int64Val(constant.ToInt(c.Val()))
	if !isNamed(c.Type(), "time", "Duration") || !exact {
		b.constant(d.Const, "its type is %s and %s takes a time.Duration: declare it as such, const %s = 30 * time.Second",
			typeString(b.Pkg, c.Type()), o.name, c.Name())
		return
	}
	d.Value = time.Duration(n)
	if b.durationRange(o, d) {
		d.Const.Object = c
	}
}

func (b *binder) textConst(o *option, s *String) {
	c := b.resolve(s.Const)
	if c == nil || !b.isText(s.Const, c, o.name) {
		return
	}
	s.Value = constant.StringVal(c.Val())
	if b.text(o, s.Arg, s.Value) {
		s.Const.Object = c
	}
}

// isText wants a constant that can stand where a string is expected; one of a named string type could not.
func (b *binder) isText(ref *ConstRef, c *types.Const, option string) bool {
	if c.Val().Kind() == constant.String && types.AssignableTo(c.Type(), types.Typ[types.String]) {
		return true
	}
	b.constant(ref, "its type is %s and %s takes a string: declare it as one", typeString(b.Pkg, c.Type()), option)
	return false
}

func (b *binder) intConst(o *option, i *Int) {
	c := b.resolve(i.Const)
	if c == nil {
		return
	}
	if c.Val().Kind() != constant.Int || !types.AssignableTo(c.Type(), types.Typ[types.Int]) {
		b.constant(i.Const, "%s takes a whole number of type int, and it is %s of type %s", o.name, c.Val(),
			typeString(b.Pkg, c.Type()))
		return
	}
	n, exact := constant.Int64Val(c.Val())
	if wrong := o.counts().refuses(o, c.Val().String(), n, exact); wrong != "" {
		b.constant(i.Const, "%s", wrong)
		return
	}
	i.Value, i.Const.Object = int(n), c
}

// keyConst takes the constant as the whole text of the key. It is emitted as a reference, and a reference is no
// template: braces in it would be taken for placeholders by everybody who reads them.
func (b *binder) keyConst(k *Key) {
	c := b.resolve(k.Const)
	if c == nil || !b.isText(k.Const, c, "key") {
		return
	}
	text := constant.StringVal(c.Val())
	switch {
	case text == "":
		b.add(k.ValuePos, k.ValueEnd, "key-empty", "the key %s is empty: give the constant a text that names what is locked",
			k.Const)
	case strings.ContainsAny(text, "{}"):
		b.constant(k.Const,
			"it is %s, and a constant is the text of a key, not a template: write the template in the directive", shown(text))
	case strings.ContainsFunc(text, invisible):
		b.add(k.ValuePos, k.ValueEnd, "character", "the key %s is %s, which holds a character that no log or tool shows: delete "+
			"it", k.Const, shownASCII(text))
	default:
		k.Const.Object = c
	}
}
