package ll2002

import (
	"fmt"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/check"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/clients"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/keyexpr"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ops"
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
		if !key.Known() || r.Index.InTest(obtain.Pos()) {
			continue
		}
		fn := ssax.Outermost(obtain.Parent())
		if forceWord.MatchString(fn.Name()) {
			continue
		}
		for _, del := range r.Index.Commands[fn] {
			if del.Op != ops.Delete || del.Forced || del.Key.String() != key.String() || isAsked(del) ||
				!ssax.ComesAfter(obtain, del.Call) {
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

// keyOfLibrary is the key that a call of redislock's Obtain is given, nothing known for other calls.
func keyOfLibrary(call *ssa.Call) keyexpr.Expr {
	m, ok := ssax.MethodOf(&call.Call)
	if !ok || m.Obj.Name() != "Obtain" || clients.OfPackage(m.Obj.Pkg()) != clients.Redislock || len(m.Args) == 0 {
		return keyexpr.Expr{}
	}
	for _, a := range m.Arguments() {
		if ssax.IsString(a.Type()) {
			return keyexpr.Of(a)
		}
	}
	return keyexpr.Expr{}
}
