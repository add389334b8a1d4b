package ll1004

import (
	"go/ast"
	"go/types"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/lockgen/lockgen/cmd/internal/directive"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/check"
)

// This file compares the signature that a wrapper has with the one that its function asks for, and the call of the
// function with what it takes.

// A shape is a signature in a form that can be compared: types with the names of type parameters taken out.
type shape struct {
	recv            string
	names           []string // of the parameters, "" where nobody named them
	params, results []string
	known           bool
}

// signatureDiffers compares the signatures, and then what the function is called with.
func (s *staleness) signatureDiffers(p *protection) {
	want, got := s.wantedShape(), s.shapeOf(p.decl)
	if !want.known || !got.known {
		return
	}
	same := want.recv == got.recv && slices.Equal(want.params, got.params) && slices.Equal(want.results, got.results)
	for i := range want.names {
		same = same && i < len(got.names) && sameParam(want.names[i], got.names[i])
	}
	if !same {
		s.add(directive.Arg{}, "the wrapper should be %s, in %s it is %s", want.text(s.r), s.file, got.text(s.r))
		return
	}
	if wantArgs, gotArgs := s.wantedArgs(), p.args(); !slices.EqualFunc(wantArgs, gotArgs, sameArg) ||
		s.resultCount() != p.resultCount() {
		s.add(directive.Arg{}, "the parameters or results of %s are not those that %s was made for", s.fn.Decl.Name.Name,
			s.file)
	}
}

// sameParam compares names: lockgen keeps those of the function unless it needs them for something else.
func sameParam(want, got string) bool {
	return want == "" || strings.HasPrefix(got, want) && (got == want || strings.HasPrefix(got[len(want):], "Arg"))
}

// signature is the type of a declaration, nil if it is not known.
func (s *staleness) signature(fd *ast.FuncDecl) *types.Signature {
	fn, ok := s.r.Pass.TypesInfo.Defs[fd.Name].(*types.Func)
	if !ok {
		return nil
	}
	return fn.Signature()
}

// shapeOf is the shape of a declaration as it is.
func (s *staleness) shapeOf(fd *ast.FuncDecl) shape {
	sig := s.signature(fd)
	if sig == nil || hasInvalid(sig) {
		return shape{}
	}
	w := shape{known: true, recv: typeText(sig, receiverType(sig))}
	for v := range sig.Params().Variables() {
		w.names = append(w.names, v.Name())
		w.params = append(w.params, typeText(sig, v.Type()))
	}
	w.variadic(sig)
	for v := range sig.Results().Variables() {
		w.results = append(w.results, typeText(sig, v.Type()))
	}
	return w
}

func (w *shape) variadic(sig *types.Signature) {
	if sig.Variadic() {
		last := len(w.params) - 1
		w.params[last] = "..." + strings.TrimPrefix(w.params[last], "[]")
	}
}

// wantedShape is the shape that the wrapper should have.
func (s *staleness) wantedShape() shape {
	body, sig := s.shapeOf(s.fn.Decl), s.signature(s.fn.Decl)
	if !body.known {
		return body
	}
	w := shape{known: true, recv: body.recv, results: body.results}
	params := s.fn.Params
	add := func(name, text string) { w.names, w.params = append(w.names, name), append(w.params, text) }
	ctx := ""
	if len(params) > 0 && params[0].Role == directive.RoleContext {
		ctx = params[0].Name
	}
	add(ctx, "context.Context")
	if s.fn.Locker.From == directive.FromNewParam {
		add("", "*"+directive.RuntimePath+".Locker")
	}
	for i, p := range params {
		if p.Role == directive.RoleOrdinary && i < sig.Params().Len() {
			add(p.Name, body.params[i])
		}
	}
	if s.fn.AddsError {
		w.results = append(slices.Clone(w.results), "error")
	}
	return w
}

// text is a shape for people.
func (w shape) text(r *check.Reporter) string {
	var params []string
	for i, p := range w.params {
		if i < len(w.names) && w.names[i] != "" {
			p = w.names[i] + " " + p
		}
		params = append(params, p)
	}
	text := "func(" + strings.Join(params, ", ") + ")"
	switch len(w.results) {
	case 0:
	case 1:
		text += " " + w.results[0]
	default:
		text += " (" + strings.Join(w.results, ", ") + ")"
	}
	return packagePath.ReplaceAllString(strings.ReplaceAll(text, r.Pass.Pkg.Path()+".", ""), "")
}

// packagePath is what stands before the last element of an import path.
var packagePath = regexp.MustCompile(`[\w.~-]+(/[\w.~-]+)*/`)

func receiverType(sig *types.Signature) types.Type {
	if sig.Recv() == nil {
		return nil
	}
	return sig.Recv().Type()
}

// typeText is a type with full import paths and with numbers for the type parameters of a function: the wrapper may
// call them something else.
func typeText(sig *types.Signature, t types.Type) string {
	if t == nil {
		return ""
	}
	text := strings.ReplaceAll(types.TypeString(t, nil), "/* type parameter */", "") // behind names such as string
	number := 0
	for _, list := range []*types.TypeParamList{sig.RecvTypeParams(), sig.TypeParams()} {
		for tp := range list.TypeParams() {
			number++
			text = replaceName(text, tp.Obj().Name(), "$"+strconv.Itoa(number))
		}
	}
	return text
}

var typeName = regexp.MustCompile(`[\w./~-]*\w`)

// replaceName replaces a name where it stands alone, not behind a package.
func replaceName(text, name, by string) string {
	return typeName.ReplaceAllStringFunc(text, func(word string) string {
		plain := strings.TrimLeft(word, ".~")
		if plain == name {
			return word[:len(word)-len(plain)] + by
		}
		return word
	})
}

// hasInvalid reports whether some type of a signature is not known.
func hasInvalid(sig *types.Signature) bool {
	return strings.Contains(types.TypeString(sig, nil), "invalid type")
}

// wantedArgs are the arguments that the function takes, in the form of args.
func (s *staleness) wantedArgs() []string {
	var list []string
	for _, p := range s.fn.Params {
		switch p.Role {
		case directive.RoleFence:
			list = append(list, "fence "+strconv.Itoa(p.Key))
		case directive.RoleLease:
			list = append(list, "lease "+strconv.Itoa(p.Key))
		case directive.RoleTx:
			list = append(list, "tx")
		default:
			list = append(list, p.Name)
		}
	}
	return list
}

// args are the arguments with which a wrapper calls its function: names, and which key's fence or lease.
func (p *protection) args() []string {
	var list []string
	lease, tx := "", ""
	if lit := p.closure(); lit != nil {
		for i, f := range lit.Type.Params.List {
			if len(f.Names) == 1 {
				lease = f.Names[0].Name // the last one
			}
			if p.tx != nil && i == 1 {
				tx = lease
			}
		}
	}
	for _, x := range p.call.Args {
		what := "lease "
		if call, ok := x.(*ast.CallExpr); ok && calledName(call) == "Fence" {
			what, x = "fence ", call.Fun.(*ast.SelectorExpr).X
		}
		switch y := x.(type) {
		case *ast.Ident:
			if y.Name == tx && tx != "" {
				list = append(list, "tx")
			} else if y.Name == lease && (len(p.keys) == 1) {
				list = append(list, what+"0")
			} else {
				list = append(list, y.Name)
			}
		case *ast.CallExpr: // leases.Lease(key1)
			list = append(list, what+p.keyIndex(y))
		default:
			list = append(list, "?")
		}
	}
	return list
}

// closure is the function literal that a wrapper hands to Do.
func (p *protection) closure() *ast.FuncLit {
	var found *ast.FuncLit
	ast.Inspect(p.decl.Body, func(n ast.Node) bool {
		if lit, ok := n.(*ast.FuncLit); ok && lit.Pos() <= p.call.Pos() && p.call.End() <= lit.End() {
			found = lit
		}
		return true
	})
	return found
}

// keyIndex is which key a call of Lease names.
func (p *protection) keyIndex(call *ast.CallExpr) string {
	if len(call.Args) == 0 {
		return "?"
	}
	name := exprText(call.Args[len(call.Args)-1])
	for i, k := range p.keys {
		if name != "" && exprText(k) == name {
			return strconv.Itoa(i)
		}
	}
	return "?"
}

// sameArg compares an argument with the parameter that it is for; blank parameters take whatever there is.
func sameArg(want, got string) bool {
	if strings.HasPrefix(want, "fence ") || strings.HasPrefix(want, "lease ") {
		return want == got
	}
	return sameParam(want, got) && !strings.Contains(got, " ")
}

// resultCount is how many results a function has.
func (s *staleness) resultCount() int {
	sig := s.signature(s.fn.Decl)
	if sig == nil {
		return 0
	}
	return sig.Results().Len()
}

// resultCount is how many results the generated call deals with.
func (p *protection) resultCount() int {
	switch stmt := p.stmt.(type) {
	case *ast.AssignStmt:
		return len(stmt.Lhs)
	case *ast.ReturnStmt:
		return 1
	}
	return 0
}
