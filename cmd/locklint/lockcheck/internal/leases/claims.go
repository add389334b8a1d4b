package leases

import (
	"slices"
	"strings"

	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/clients"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/handles"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

// Claims reports whether an acquire asks once and keeps nothing by which it could release: a claim that is meant to
// last until its TTL, such as the right to run the job of the day.
func (site *Site) Claims() bool {
	switch site.Library {
	case clients.Etcd, clients.ZooKeeper, clients.Consul: // as a leader does, until its session ends
		return true
	case clients.Redsync:
		return strings.HasPrefix(site.Name, "Mutex.TryLock") || site.made != nil && (triesOnce(site.made) || wrapped(site)) ||
			choosesToken(site.Call.Parent())
	case clients.GoZero: // it never waits
		return site.made != nil
	case clients.ByHand: // a mark is taken as a lock is
		return true
	case clients.Redislock:
		return !site.only && !handleUsed(site)
	}
	return false
}

// handleUsed reports whether anybody looks at the lock that an acquire returns.
func handleUsed(site *Site) bool {
	for _, instr := range *site.Call.Referrers() {
		if ex, ok := instr.(*ssa.Extract); ok && ex.Index == site.Lease && !ssax.Unused(ex) {
			return true
		}
	}
	return false
}

// wrapped reports whether a site locks an object of the program's own: how often it tries is not seen.
func wrapped(site *Site) bool { return handles.Library(site.Recv.Type()) == clients.None }

// choosesToken reports whether a function makes a mutex with a token of its own, by which others may release it.
func choosesToken(fn *ssa.Function) bool {
	chooses := false
	ssax.EachCall(fn, func(call ssa.CallInstruction) {
		option := call.Common().StaticCallee()
		chooses = chooses || option != nil && option.Signature.Recv() == nil && option.Pkg != nil && clients.OfPackage(option.Pkg.Pkg) == clients.Redsync &&
			(strings.HasSuffix(option.Name(), "GenValueFunc") || strings.HasSuffix(option.Name(), "Value"))
	})
	return chooses
}

// triesOnce reports whether a mutex is made with the option to try no more than once.
func triesOnce(made ssa.Value) bool {
	call, ok := made.(*ssa.Call)
	if !ok {
		return false
	}
	m, ok := ssax.MethodOf(&call.Call)
	if !ok || m.Arg(1) == nil {
		return false
	}
	options, _ := ssax.Variadic(m.Arg(1))
	return slices.ContainsFunc(options, func(o ssa.Value) bool {
		option, ok := o.(*ssa.Call)
		if !ok {
			return false
		}
		fn := option.Call.StaticCallee()
		return fn != nil && (fn.Name() == "WithTries" || fn.Name() == "SetTries") && ssax.IntOf(option.Call.Args[0]) == 1
	})
}

// SharesVariable reports whether what two acquires return ends up in one variable, or whether they lock one mutex.
func (site *Site) SharesVariable(other *Site) bool {
	if site.Recv != nil && other.Recv != nil {
		return ssax.SoleValue(site.Recv) == ssax.SoleValue(other.Recv) || site.at != "" && site.at == other.at
	}
	mine, others := map[ssa.Value]bool{}, map[ssa.Value]bool{}
	variablesOf(site, mine)
	variablesOf(other, others)
	for v := range mine {
		if others[v] {
			return true
		}
	}
	return false
}

// variablesOf collects the variables that the lease of an acquire goes into.
func variablesOf(site *Site, into map[ssa.Value]bool) {
	var follow func(v ssa.Value)
	follow = func(v ssa.Value) {
		for _, instr := range *v.Referrers() {
			switch instr := instr.(type) {
			case *ssa.Extract:
				if instr.Index == site.Lease {
					follow(instr)
				}
			case *ssa.Phi:
				if !into[instr] {
					into[instr] = true
					follow(instr)
				}
			case *ssa.Store:
				if instr.Val == v {
					into[ssax.CellOf(instr.Addr)] = true
				}
			}
		}
	}
	follow(site.Call)
}
