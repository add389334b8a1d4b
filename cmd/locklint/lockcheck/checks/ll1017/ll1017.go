// Package ll1017 is the check LL1017; see doc.md.
package ll1017

import (
	_ "embed"
	"fmt"
	"go/types"
	"time"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/check"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/clients"
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
	checkKeys(r)
	checkKinds(r)
	ttls := fixedTTLs(r)
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

// fixedTTLs are the lengths of the leases that directives do not renew.
func fixedTTLs(r *check.Reporter) map[types.Object]time.Duration {
	ttls := map[types.Object]time.Duration{}
	for _, found := range r.Directives() {
		for _, a := range found.Funcs {
			if d := a.Directive; d.TTL != nil && !d.Renews() && (d.TTL.Const == nil || d.TTL.Value > 0) {
				ttls[r.Pass.TypesInfo.Defs[a.Decl.Name]] = d.TTL.Value
			}
		}
	}
	return ttls
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
