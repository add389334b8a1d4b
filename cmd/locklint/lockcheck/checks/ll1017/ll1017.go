// Package ll1017 is the check LL1017; see doc.md.
package ll1017

import (
	_ "embed"
	"fmt"
	"go/types"
	"strings"
	"time"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/internal/directive"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/check"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/clients"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/guards"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/index"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/sections"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

//go:embed doc.md
var page string

// Check is LL1017.
var Check = check.New(check.Spec{Page: page, Severity: check.Warning, Run: checkLengths})

// checkLengths reports what copied directives look like, and leases that are over before the work is.
func checkLengths(r *check.Reporter) {
	ttls := checkKeys(r)
	for _, s := range r.Criticals() {
		ttl, ok := fixedTTL(r.Index, s)
		if s.Call == nil {
			ttl, ok = ttls[s.Fn.Object()]
		}
		if !ok || r.Index.InTest(s.Pos) {
			continue
		}
		work, call := sections.VisibleWork(s.Calls())
		if work < ttl {
			continue
		}
		pos, end := r.CallSpan(call)
		r.ReportAs(check.Info, analysis.Diagnostic{
			Pos: pos, End: end,
			Message: fmt.Sprintf("the work takes up to %s, and the lock from %s at %s lasts %s without renewal: it is lost "+
				"before the work is done; let it renew, or raise the ttl",
				work, s.Name, r.Place(s.Pos, pos), ttl),
			Related: []analysis.RelatedInformation{{Pos: s.Pos, Message: "acquired here"}},
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
func checkKeys(r *check.Reporter) map[types.Object]time.Duration {
	ttls := map[types.Object]time.Duration{}
	var keys []usedKey
	for _, file := range r.Pass.Files {
		name := r.Pass.Fset.Position(file.Package).Filename
		if r.IsOutput(file) || strings.HasSuffix(name, "_test.go") || !guards.MentionsDirective(file) {
			continue
		}
		for _, a := range directive.Find(file).Funcs {
			if d := a.Directive; d.TTL != nil && !d.Renews() && (d.TTL.Const == nil || d.TTL.Value > 0) {
				ttls[r.Pass.TypesInfo.Defs[a.Decl.Name]] = d.TTL.Value
			}
			fn, problems := directive.Bind(a.Directive, r.Target(file, a.Decl))
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
				collision(r, first, second, example)
				break
			}
		}
	}
	return ttls
}

func collision(r *check.Reporter, first, second usedKey, example string) {
	k, other := second.key.Key, first.key.Key
	r.Report(analysis.Diagnostic{
		Pos: k.Pos, End: k.End,
		Message: fmt.Sprintf("the key can be that of %s at %s, such as %q, so the two never run at the same time; give each "+
			"its own key, or say that it is meant: shared=\"why\" in both, or key=@Const in both",
			first.fn.Decl.Name.Name, r.Place(other.Pos, k.Pos), example),
		Related: []analysis.RelatedInformation{{Pos: other.Pos, Message: "the other key"}},
	})
}

// fixedTTL is the constant length of a lease that is not renewed.
func fixedTTL(ix *index.Index, s *sections.Section) (time.Duration, bool) {
	if s.Call == nil {
		return 0, false
	}
	m, ok := ssax.MethodOf(&s.Call.Call)
	if !ok || clients.OfPackage(m.Obj.Pkg()) != clients.Runtime {
		return 0, false
	}
	var opts ssa.Value
	for _, a := range m.Args {
		if clients.Named(a.Type(), clients.Runtime) == "Options" {
			opts = a
		}
	}
	if opts == nil {
		return 0, false
	}
	renew, known := ix.OptionOf(opts, "NoRenew")
	if c, isConst := renew.(*ssa.Const); !known || !isConst || c.Value == nil || c.Value.String() != "true" {
		return 0, false
	}
	ttl, _ := ix.OptionOf(opts, "TTL")
	return ssax.ConstDuration(ttl)
}
