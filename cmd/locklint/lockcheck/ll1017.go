package lockcheck

import (
	"fmt"
	"go/token"
	"go/types"
	"strings"
	"time"

	"github.com/lockgen/lockgen/cmd/internal/directive"
	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ssa"
)

var ll1017 = newCheck("LL1017",
	"same constant key on different functions, or ttl without renewal below the visible work", Warning, false,
	checkLengths)

// checkLengths reports what copied directives look like, and leases that are over before the work is.
func checkLengths(r *reporter) {
	ttls := r.checkConstantKeys()
	for _, s := range r.criticals() {
		ttl, ok := r.index.fixedTTL(s)
		if s.call == nil {
			ttl, ok = ttls[s.fn.Object()]
		}
		if !ok || r.index.inTest(s.pos) {
			continue
		}
		work, call := visibleWork(s.calls())
		if work < ttl {
			continue
		}
		pos, end := r.callSpan(call)
		r.reportAs(Info, analysis.Diagnostic{
			Pos: pos, End: end,
			Message: fmt.Sprintf("the work takes up to %s, and the lock from %s at %s lasts %s without renewal: it is lost "+
				"before the work is done; let it renew, or raise the ttl",
				work, s.name, r.place(s.pos, pos), ttl),
			Related: []analysis.RelatedInformation{{Pos: s.pos, Message: "acquired here"}},
		})
	}
}

// checkConstantKeys reports directives that lock the same constant text on different functions, and returns the ttl of
// those without renewal. A constant that both name (@Const) says that it is meant.
func (r *reporter) checkConstantKeys() map[types.Object]time.Duration {
	ttls := map[types.Object]time.Duration{}
	type use struct {
		fn  string
		pos token.Pos
	}
	first := map[string]use{}
	for _, file := range r.pass.Files {
		name := r.pass.Fset.Position(file.Package).Filename
		if r.isOutput(file) || strings.HasSuffix(name, "_test.go") || !mentionsDirective(file) {
			continue
		}
		for _, a := range directive.Find(file).Funcs {
			if d := a.Directive; d.TTL != nil && !d.Renews() && (d.TTL.Const == nil || d.TTL.Value > 0) {
				ttls[r.pass.TypesInfo.Defs[a.Decl.Name]] = d.TTL.Value
			}
			for _, k := range a.Directive.Keys {
				text := constantText(k)
				if text == "" {
					continue
				}
				other, ok := first[text]
				if !ok {
					first[text] = use{a.Decl.Name.Name, k.Pos}
					continue
				}
				r.report(analysis.Diagnostic{
					Pos: k.Pos, End: k.End,
					Message: fmt.Sprintf("the key %q is also that of %s at %s, so the two never run at the same time; give each "+
						"its own key, or write key=@Const in both to say that it is meant",
						text, other.fn, r.place(other.pos, k.Pos)),
					Related: []analysis.RelatedInformation{{Pos: other.pos, Message: "the same key"}},
				})
			}
		}
	}
	return ttls
}

// constantText is the text of a key without placeholders, "" for others.
func constantText(k *directive.Key) string {
	if k.Template == nil || len(k.Template.Parts) != 1 {
		return ""
	}
	if t, ok := k.Template.Parts[0].(*directive.Text); ok {
		return t.Value
	}
	return ""
}

// fixedTTL is the constant length of a lease that is not renewed.
func (ix *index) fixedTTL(s *critical) (time.Duration, bool) {
	if s.call == nil {
		return 0, false
	}
	m, ok := methodOf(&s.call.Call)
	if !ok || clientOfPackage(m.obj.Pkg()) != lockRuntime {
		return 0, false
	}
	var opts ssa.Value
	for _, a := range m.args {
		if namedIn(a.Type(), lockRuntime) == "Options" {
			opts = a
		}
	}
	if opts == nil {
		return 0, false
	}
	renew, known := ix.optionOf(opts, "NoRenew")
	if c, isConst := renew.(*ssa.Const); !known || !isConst || c.Value == nil || c.Value.String() != "true" {
		return 0, false
	}
	ttl, _ := ix.optionOf(opts, "TTL")
	return constDuration(ttl)
}
