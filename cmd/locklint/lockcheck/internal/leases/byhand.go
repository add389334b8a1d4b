package leases

import (
	"go/types"
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/answers"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/clients"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/handles"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/keyexpr"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/locks"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ops"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/rediscmd"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

// Programs that take locks with commands of Redis hand them out as the libraries do, as an object that releases, or as a
// function:
//
//	func (c *Locker) Acquire(ctx context.Context, key string) (*Lock, error)
//	func (c *Locker) Acquire(ctx context.Context, key string) (release func(), err error)
//
// Whoever calls these has a lease to follow, whatever there is in them.

// findHandReleases finds the methods that release, with a command of Redis, what their receiver names.
func (li *Info) findHandReleases() {
	for _, fn := range li.P.Funcs {
		obj := methodOf(fn)
		if obj == nil || !handles.IsReleaseName(obj.Name()) || li.verbs[obj].verb != handles.VerbOther {
			continue
		}
		releases, detached := false, true
		for _, c := range li.hand.Commands[fn] {
			if c.Op == ops.Acquire {
				releases = false
				break
			}
			if c.Op.Releases() && ofReceiver(c.Key) {
				releases, detached = true, c.Detached || !passesContext(fn, c.Call.Common())
			}
		}
		if releases {
			li.verbs[obj] = ownVerb{verb: handles.VerbRelease, library: clients.ByHand, detached: detached, guarded: true,
				nilSafe: isNilSafe(fn)}
		}
	}
}

// ofReceiver reports whether a key is made of what stands in the receiver of a method.
func ofReceiver(k keyexpr.Expr) bool {
	if k.Op == keyexpr.Field && k.Args[0].Op == keyexpr.Param && k.Args[0].Text == "0" {
		return true
	}
	return slices.ContainsFunc(k.Args, ofReceiver)
}

// handsOutByHand finds out whether a function takes a lock with a command of Redis and hands its caller what releases it.
func (li *Info) handsOutByHand(fn *ssa.Function, f *Fact) {
	if fn.Parent() != nil || f.Returns > 0 || f.Verb != handles.VerbOther {
		return
	}
	acquire := li.onlyAcquire(fn)
	if acquire == nil || !locks.MayBeLock(acquire) {
		return
	}
	results := fn.Signature.Results()
	for i, t := range slices.Collect(results.Variables()) {
		if li.libraryOf(t.Type()) != clients.ByHand && !isFunc(t.Type()) {
			continue
		}
		handed, null, spare, other := false, false, false, false
		for _, b := range fn.Blocks {
			ret, ok := b.Instrs[len(b.Instrs)-1].(*ssa.Return)
			if !ok || b == fn.Recover {
				continue
			}
			switch v := ssax.Returned(ret, i); {
			case ssax.IsNilConst(v):
				null = true
			case doesNothing(v):
				null, spare = true, true
			case li.releasesByHand(v, acquire):
				handed = true
			default:
				other = true // may be a lock from elsewhere
			}
		}
		if handed && !other {
			f.Library, f.Spare, f.Null, f.Always = clients.ByHand, spare, null && results.Len() == 1, !null
			findOutcome(f, results, i)
			f.Both = f.Err > 0 && f.OK > 0
			quietOf(fn, i, nil, func(b *ssa.BasicBlock) bool { return answers.Refused(b, acquire) }).apply(f)
			return
		}
	}
}

func isFunc(t types.Type) bool {
	_, ok := t.Underlying().(*types.Signature)
	return ok
}

// onlyAcquire is the command by which a function takes a lock that it does not release itself, nil if there is none or
// several.
func (li *Info) onlyAcquire(fn *ssa.Function) (acquire *rediscmd.Command) {
	for _, c := range li.hand.Commands[fn] {
		switch {
		case c.Op == ops.Acquire && (acquire != nil && acquire.Call != c.Call || c.Pipe != rediscmd.Direct || c.Ended):
			return nil
		case c.Op == ops.Acquire:
			acquire = c
		}
	}
	return acquire
}

// releasesByHand reports whether a value that a function returns releases the lock that it has taken: a literal that
// does, the releasing method of an object, or such an object that is made there.
func (li *Info) releasesByHand(v ssa.Value, acquire *rediscmd.Command) bool {
	v = ssax.SoleValue(v)
	if mc, ok := v.(*ssa.MakeClosure); ok && li.bindsRelease(mc) {
		return true
	}
	if lit := ssax.LiteralOf(v); lit != nil {
		return slices.ContainsFunc(li.hand.Commands[acquire.Fn], func(c *rediscmd.Command) bool {
			return c.Op.Releases() && c.Call.Parent() == lit
		})
	}
	switch made := v.(type) {
	case *ssa.MakeInterface:
		return li.releasesByHand(made.X, acquire)
	case *ssa.Alloc:
		return li.libraryOf(v.Type()) == clients.ByHand
	case *ssa.Call:
		return li.libraryOf(v.Type()) == clients.ByHand && made.Call.StaticCallee() != nil
	}
	return false
}
