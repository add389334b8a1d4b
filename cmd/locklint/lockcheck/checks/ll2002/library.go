package ll2002

import (
	"fmt"
	"slices"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/check"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/clients"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/keyexpr"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/leases"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ops"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/rediscmd"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

// reportLibrary reports a plain DEL of the key under which redislock keeps a lock that the same function obtains, as
// where the comparing release of the library has failed: the lock may be over by then.
func reportLibrary(r *check.Reporter) {
	if r.Index.Leases == nil {
		return
	}
	for _, flow := range r.Index.Leases.Flows {
		obtain := flow.Site.Call
		key := keyOfLibrary(obtain)
		if !isObtain(obtain) || r.Index.InTest(obtain.Pos()) {
			continue
		}
		fn := ssax.Outermost(obtain.Parent())
		if forceWord.MatchString(fn.Name()) {
			continue
		}
		for _, del := range r.Index.Commands[fn] {
			if del.Op != ops.Delete || del.Forced || isAsked(del) || !ssax.ComesAfter(obtain, del.Call) ||
				!(key.Known() && del.Key.String() == key.String() || namesKeyOf(del, flow.Site)) {
				continue
			}
			pos, end := r.Span(del)
			r.ReportOnce(analysis.Diagnostic{
				Pos: pos, End: end,
				Message: fmt.Sprintf("%s deletes the key of the lock that %s at %s obtains without asking whose it is: if that has "+
					"expired meanwhile, it deletes the lock of the next holder; leave it to the lock's Release, which compares, "+
					"and to the expiry", del.What(), r.CallText(obtain), r.Place(obtain.Pos(), del.Pos())),
				Related: []analysis.RelatedInformation{{Pos: obtain.Pos(), Message: "the lock is acquired here"}},
			})
		}
	}
}

// namesKeyOf reports whether a DEL names its key by asking a lock of redislock for that.
func namesKeyOf(del *rediscmd.Command, site *leases.Site) bool {
	given := del.Call.Common().Args
	if len(given) > 0 {
		keys, _ := ssax.Variadic(given[len(given)-1])
		given = append(slices.Clone(given), keys...)
	}
	return slices.ContainsFunc(given, func(v ssa.Value) bool {
		asked, ok := ssax.SoleValue(v).(*ssa.Call)
		if !ok {
			return false
		}
		m, ok := ssax.MethodOf(&asked.Call)
		return ok && m.Recv != nil && m.Obj.Name() == "Key" && clients.OfPackage(m.Obj.Pkg()) == clients.Redislock &&
			site.Has(ssax.SoleValue(m.Recv))
	})
}

// isObtain reports whether a call is that of redislock's Obtain.
func isObtain(call *ssa.Call) bool {
	m, ok := ssax.MethodOf(&call.Call)
	return ok && m.Obj.Name() == "Obtain" && clients.OfPackage(m.Obj.Pkg()) == clients.Redislock && len(m.Args) > 0
}

// keyOfLibrary is the key that a call of redislock's Obtain is given, nothing known for other calls.
func keyOfLibrary(call *ssa.Call) keyexpr.Expr {
	if !isObtain(call) {
		return keyexpr.Expr{}
	}
	m, _ := ssax.MethodOf(&call.Call)
	for _, a := range m.Arguments() {
		if ssax.IsString(a.Type()) {
			return keyexpr.Of(a)
		}
	}
	return keyexpr.Expr{}
}
