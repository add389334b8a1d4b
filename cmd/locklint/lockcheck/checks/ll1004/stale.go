package ll1004

import (
	"go/ast"
	"go/constant"
	"go/types"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lockgen/lockgen/cmd/internal/directive"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/clients"
)

// This file compares a wrapper with its directive, option by option. What cannot be read, because it does not compile
// or because somebody has changed it by hand, is taken for equal.

// wrapperDiffers compares the whole wrapper.
func (s *staleness) wrapperDiffers(p *protection) {
	fn := s.fn
	at := directive.Arg{}
	if fn.Directive.Func != nil {
		at = fn.Directive.Func.Arg
	}
	if name := p.decl.Name.Name; name != fn.Name {
		s.differs(at, "the wrapper's name", fn.Name, name)
	}
	if p.body != bodyOf(fn) {
		s.add(directive.Arg{}, "%s runs %s in %s instead of %s", fn.Name, p.body.name, s.file, fn.Decl.Name.Name)
		return
	}
	s.lockDiffers(p)
	d := fn.Directive
	if skips := mentionsBusy(p.decl); skips != d.SkipsBusy() {
		at := directive.Arg{}
		if d.Busy != nil {
			at = d.Busy.Arg
		}
		s.differs(at, "busy", busyText(d.SkipsBusy()), busyText(skips))
	}
	s.txDiffers(p)
	if want, got := s.sourceText(&fn.Locker), exprText(p.locker); want != got &&
		!(fn.Locker.From == directive.FromPackage && strings.HasSuffix(got, "."+want)) {
		if fn.Locker.From != directive.FromNewParam && fn.Locker.From != directive.FromParam || strings.Contains(got, ".") {
			at := directive.Arg{}
			if d.Locker != nil {
				at = d.Locker.Arg
			}
			s.add(at, "the locker is %s now, %s in %s", want, got, s.file)
		}
	}
	s.signatureDiffers(p)
}

// lockDiffers compares what wrappers and jobs have in common: the keys and the options of the lock.
func (s *staleness) lockDiffers(p *protection) {
	d := s.fn.Directive
	s.keysDiffer(p)
	fields := fieldsOf(p.options)
	s.durationDiffers("ttl", d.TTL, fields["TTL"])
	s.durationDiffers("wait", d.Wait, fields["Wait"])
	s.durationDiffers("minhold", d.MinHold, fields["MinHold"])
	s.durationDiffers("maxhold", d.MaxHold, fields["MaxHold"])
	s.boolDiffers("renew", d.Renew, d.Renews(), fields["NoRenew"] == nil)
	s.boolDiffers("reentrant", d.Reentrant, d.Reentrant != nil && d.Reentrant.Value, fields["Reentrant"] != nil)
}

func (s *staleness) boolDiffers(option string, written *directive.Bool, want, got bool) {
	if want == got {
		return
	}
	at := directive.Arg{}
	if written != nil {
		at = written.Arg
	}
	s.differs(at, option, strconv.FormatBool(want), strconv.FormatBool(got))
}

// durationDiffers compares a time with the expression that generated code has for it, nil for none.
func (s *staleness) durationDiffers(option string, want *directive.Duration, got ast.Expr) {
	at := directive.Arg{}
	if want != nil {
		at = want.Arg
	}
	none := "missing"
	if option == "wait" {
		none = "0"
	}
	wantText, gotText := none, none
	if want != nil {
		wantText = want.String()
	}
	if got != nil {
		if gotText = s.durationExpr(got); gotText == "" {
			return
		}
	}
	if wantText == gotText || want != nil && s.isConst(want.Const, got) {
		return
	}
	if want != nil && want.Const != nil &&
		(want.Const.Object == nil || s.constantOf(got) == nil && got != nil && isSelfNamed(got)) {
		return // nobody knows
	}
	s.differs(at, option, wantText, gotText)
}

// durationExpr is what generated code says of a time, in the words of directives; "" if that is not known.
func (s *staleness) durationExpr(x ast.Expr) string {
	if c := s.constantOf(x); c != nil && !inPackageOf(c, "time") {
		if clients.OfPackage(c.Pkg()) == clients.Runtime && c.Name() == "Forever" {
			return "forever"
		}
		return s.refText(c)
	}
	v := s.r.Pass.TypesInfo.Types[x].Value
	if v == nil || v.Kind() != constant.Int {
		return ""
	}
	n, ok := constant.Int64Val(v)
	if !ok {
		return ""
	}
	return directive.FormatDuration(time.Duration(n))
}

// constantOf is the constant that an expression names, nil if it is another expression.
func (s *staleness) constantOf(x ast.Expr) *types.Const {
	var id *ast.Ident
	switch x := x.(type) {
	case *ast.Ident:
		id = x
	case *ast.SelectorExpr:
		id = x.Sel
	default:
		return nil
	}
	c, _ := s.r.Pass.TypesInfo.Uses[id].(*types.Const)
	return c
}

// isSelfNamed reports whether an expression is a name.
func isSelfNamed(x ast.Expr) bool {
	switch x.(type) {
	case *ast.Ident, *ast.SelectorExpr:
		return true
	}
	return false
}

func inPackageOf(c *types.Const, path string) bool { return c.Pkg() != nil && c.Pkg().Path() == path }

// isConst reports whether an expression names the constant that a directive does.
func (s *staleness) isConst(ref *directive.ConstRef, x ast.Expr) bool {
	if ref == nil || ref.Object == nil || x == nil {
		return false
	}
	c := s.constantOf(x)
	return c != nil && c.Name() == ref.Object.Name() && c.Pkg() == ref.Object.Pkg()
}

// refText is a constant as directives name it.
func (s *staleness) refText(c *types.Const) string {
	if c.Pkg() == nil || c.Pkg() == s.r.Pass.Pkg {
		return "@" + c.Name()
	}
	return "@" + c.Pkg().Name() + "." + c.Name()
}

// textDiffers compares an option's text with the expression that generated code has for it, nil for none.
func (s *staleness) textDiffers(option string, want *directive.String, missing string, got ast.Expr) {
	at, wantText, gotText := directive.Arg{}, missing, "missing"
	if want != nil {
		at, wantText = want.Arg, strconv.Quote(want.Value)
		if want.Const != nil {
			if s.isConst(want.Const, got) || want.Const.Object == nil {
				return
			}
			wantText = want.Const.String()
		}
	}
	if got != nil {
		if gotText = s.textExpr(got); gotText == "" {
			return
		}
	}
	if wantText != gotText {
		s.differs(at, option, wantText, gotText)
	}
}

// textExpr is what generated code says of a text: quoted, or the constant's name; "" if that is not known.
func (s *staleness) textExpr(x ast.Expr) string {
	if lit, ok := x.(*ast.BasicLit); ok {
		if text, err := strconv.Unquote(lit.Value); err == nil {
			return strconv.Quote(text)
		}
	}
	if c := s.constantOf(x); c != nil {
		return s.refText(c)
	}
	return ""
}

func busyText(skips bool) string {
	if skips {
		return "skip"
	}
	return "error"
}

// mentionsBusy reports whether a wrapper asks for ErrBusy, which only one that skips does.
func mentionsBusy(fd *ast.FuncDecl) bool {
	found := false
	ast.Inspect(fd.Body, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		found = found || ok && sel.Sel.Name == "ErrBusy"
		return !found
	})
	return found
}

// txDiffers compares where the transaction is begun.
func (s *staleness) txDiffers(p *protection) {
	d, from := s.fn.Directive, s.fn.Tx
	switch {
	case from == nil && p.tx != nil:
		s.add(directive.Arg{}, "tx is missing in the directive, %s in %s", exprText(p.tx), s.file)
	case from == nil:
	case p.tx == nil:
		s.add(d.Tx.Arg, "tx is %s in the directive, missing in %s", d.Tx.Value, s.file)
	default:
		want, got := s.sourceText(from), exprText(p.tx)
		if want != got && !(from.From == directive.FromPackage && strings.HasSuffix(got, "."+want)) &&
			(from.From != directive.FromParam || strings.Contains(got, ".")) {
			s.add(d.Tx.Arg, "the transaction is begun in %s now, %s in %s", want, got, s.file)
		}
	}
}

// sourceText is how the wrapper should reach the locker, or the pool of the transaction.
func (s *staleness) sourceText(l *directive.Source) string {
	var parts []string
	switch l.From {
	case directive.FromReceiver:
		parts = []string{receiverIdent(s.wrapper.decl)}
	case directive.FromPackage:
		parts = []string{l.Var}
	case directive.FromParam:
		parts = []string{s.fn.Params[l.Param].Name}
	default:
		parts = []string{"locks"}
	}
	return strings.Join(slices.Concat(parts, l.Fields), ".")
}

// exprText is a chain of names as it is written, "" for other expressions.
func exprText(x ast.Expr) string {
	switch x := x.(type) {
	case *ast.Ident:
		return x.Name
	case *ast.SelectorExpr:
		if base := exprText(x.X); base != "" {
			return base + "." + x.Sel.Name
		}
	}
	return ""
}
