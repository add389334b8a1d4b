package ll1004

import (
	"go/ast"
	"strconv"
	"strings"

	"github.com/lockgen/lockgen/cmd/internal/directive"
)

// A Quoted is a key in the words of directives, and how its values are encoded.
type keyText struct {
	text  string   // the template, or @Const
	kinds []string // the runtime's constructor for each placeholder
	known bool
}

// keysDiffer compares the keys in the order in which they were written.
func (s *staleness) keysDiffer(p *protection) {
	keys := s.fn.Keys
	if len(keys) != len(p.keys) {
		s.add(keys[len(keys)-1].Key.Arg, "the directive has %d keys, the lock in %s has %d", len(keys), s.file, len(p.keys))
		return
	}
	for i, k := range keys {
		got := s.keyExpr(p, p.keys[i])
		if !got.known || k.Key.Const != nil && s.isConst(k.Key.Const, p.resolve(p.keys[i])) {
			continue
		}
		want := wantedKey(k)
		if want.text != got.text {
			if k.Key.Const != nil && k.Key.Const.Object == nil {
				continue
			}
			s.differs(k.Key.Arg, "the key", want.text, got.text)
			continue
		}
		for j := range want.kinds {
			if j < len(got.kinds) && want.kinds[j] != "" && want.kinds[j] != got.kinds[j] {
				s.add(k.Key.Arg, "the values in the key %s have other types than %s was made for", want.text, s.file)
				break
			}
		}
	}
}

// constructors are the functions of the runtime that encode values.
var constructors = map[directive.Kind]string{
	directive.KindString: "KeyString", directive.KindInt: "KeyInt", directive.KindUint: "KeyUint",
	directive.KindBool:  "KeyBool",
	directive.KindBasic: "KeyBasic", directive.KindText: "KeyMarshaler", directive.KindStringer: "KeyStringer",
	directive.KindTime: "KeyTime", directive.KindLen: "KeyInt",
}

// wantedKey is a key as the directive states it.
func wantedKey(k *directive.BoundKey) keyText {
	if k.Key.Const != nil {
		return keyText{text: k.Key.Const.String(), known: true}
	}
	want := keyText{text: k.Key.Template.String(), known: true}
	for _, part := range k.Parts {
		if part.Hole == nil {
			continue
		}
		kind := ""
		if part.Value != nil {
			kind = constructors[part.Value.Kind]
		}
		want.kinds = append(want.kinds, kind)
	}
	return want
}

// resolve is what a local of the generated declaration stands for.
func (p *protection) resolve(x ast.Expr) ast.Expr {
	if id, ok := x.(*ast.Ident); ok && p.consts[id.Name] != nil {
		return p.consts[id.Name]
	}
	return x
}

// Expr reads a key of generated code: a constant text, a constant's name, or a call of BuildKey.
func (s *staleness) keyExpr(p *protection, x ast.Expr) keyText {
	x = p.resolve(x)
	if lit, ok := x.(*ast.BasicLit); ok {
		text, err := strconv.Unquote(lit.Value)
		return keyText{text: escapeBraces(text), known: err == nil}
	}
	if c := s.constantOf(x); c != nil {
		return keyText{text: s.refText(c), known: true}
	}
	call, ok := x.(*ast.CallExpr)
	if !ok || calledName(call) != "BuildKey" {
		return keyText{}
	}
	key := keyText{known: true}
	for _, arg := range call.Args {
		text, kind, ok := p.keyPart(arg)
		if !ok {
			return keyText{}
		}
		key.text += text
		if kind != "" {
			key.kinds = append(key.kinds, kind)
		}
	}
	return key
}

// keyPart reads one argument of BuildKey; kind is "" for text.
func (p *protection) keyPart(x ast.Expr) (text, kind string, ok bool) {
	optional, filter := "", ""
	for {
		call, isCall := x.(*ast.CallExpr)
		if !isCall || len(call.Args) > 0 {
			break
		}
		switch calledName(call) {
		case "Optional":
			optional = "?"
		case "Lower", "Hash", "Text":
			filter = "|" + strings.ToLower(calledName(call))
		default:
			return "", "", false
		}
		x = call.Fun.(*ast.SelectorExpr).X
	}
	if id, isLocal := x.(*ast.Ident); isLocal {
		if later := p.guarded[id.Name]; len(later) == 1 { // read behind a check for nil
			x = later[0]
		}
	}
	call, isCall := x.(*ast.CallExpr)
	if !isCall || len(call.Args) == 0 {
		return "", "", false
	}
	name, isLit := call.Args[0].(*ast.BasicLit)
	if !isLit {
		return "", "", false
	}
	text, err := strconv.Unquote(name.Value)
	kind = calledName(call)
	switch kind {
	case "KeyText":
		return escapeBraces(text), "", err == nil
	case "KeyPtr":
		if len(call.Args) != 3 {
			return "", "", false
		}
		kind = lastName(call.Args[2])
	}
	switch kind {
	case "KeyTime":
		filter = "|unix" + filter
	case "KeyStringer":
		filter = "|string" + filter
	}
	return "{" + text + optional + filter + "}", kind, err == nil && kind != ""
}

// calledName is the last name of what is called, "" if it has none.
func calledName(call *ast.CallExpr) string { return lastName(call.Fun) }

func lastName(x ast.Expr) string {
	switch x := x.(type) {
	case *ast.Ident:
		return x.Name
	case *ast.SelectorExpr:
		return x.Sel.Name
	}
	return ""
}

func escapeBraces(text string) string { return strings.NewReplacer("{", "{{", "}", "}}").Replace(text) }
