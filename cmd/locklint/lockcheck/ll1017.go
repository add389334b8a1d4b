package lockcheck

import (
	"fmt"
	"go/types"
	"strings"
	"time"

	"github.com/lockgen/lockgen/cmd/internal/directive"
	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ssa"
)

var ll1017 = newCheck("LL1017",
	"keys of different functions that can be the same, or ttl without renewal below the visible work", Warning, false,
	checkLengths)

// checkLengths reports what copied directives look like, and leases that are over before the work is.
func checkLengths(r *reporter) {
	ttls := r.checkKeys()
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

// A usedKey is a key of a function with a directive.
type usedKey struct {
	fn  *directive.Func
	key *directive.BoundKey
}

// checkKeys reports keys of different functions that can be the same text although nobody said so, and returns the ttl
// of the functions without renewal. Lockgen -check compares the packages of a module with each other.
func (r *reporter) checkKeys() map[types.Object]time.Duration {
	ttls := map[types.Object]time.Duration{}
	var keys []usedKey
	for _, file := range r.pass.Files {
		name := r.pass.Fset.Position(file.Package).Filename
		if r.isOutput(file) || strings.HasSuffix(name, "_test.go") || !mentionsDirective(file) {
			continue
		}
		for _, a := range directive.Find(file).Funcs {
			if d := a.Directive; d.TTL != nil && !d.Renews() && (d.TTL.Const == nil || d.TTL.Value > 0) {
				ttls[r.pass.TypesInfo.Defs[a.Decl.Name]] = d.TTL.Value
			}
			fn, problems := directive.Bind(a.Directive, r.target(file, a.Decl))
			if len(a.Problems)+len(problems) > 0 {
				continue // LL1005 says so
			}
			for _, key := range fn.Keys {
				keys = append(keys, usedKey{fn, key})
			}
		}
	}
	for i, second := range keys {
		for _, first := range keys[:i] {
			if first.fn == second.fn {
				continue
			}
			if example, ok := directive.Collide(first.fn, first.key, second.fn, second.key); ok {
				r.collision(first, second, example)
				break
			}
		}
	}
	return ttls
}

func (r *reporter) collision(first, second usedKey, example string) {
	k, other := second.key.Key, first.key.Key
	r.report(analysis.Diagnostic{
		Pos: k.Pos, End: k.End,
		Message: fmt.Sprintf("the key can be that of %s at %s, such as %q, so the two never run at the same time; give each "+
			"its own key, or say that it is meant: shared=\"why\" in both, or key=@Const in both",
			first.fn.Decl.Name.Name, r.place(other.Pos, k.Pos), example),
		Related: []analysis.RelatedInformation{{Pos: other.Pos, Message: "the other key"}},
	})
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
