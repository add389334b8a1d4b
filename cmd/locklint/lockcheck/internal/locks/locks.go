// Package locks is the gate of the checks of locks by hand: it decides which commands make up a lock.
package locks

import (
	"cmp"
	"go/token"
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/answers"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/keyexpr"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ops"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/rediscmd"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/summaries"
)

// A Lock is an acquire and a release that play their roles on one key. Everything that LL2 reports starts here:
// SETNX by itself is mostly de-duplication, throttling or a cache, and stays silent.
type Lock struct {
	Acquire *rediscmd.Command
	Release *rediscmd.Command // Delete or CompareDel

	// judged: both commands belong to a lock that has been found closer to the client, by this package or another. What
	// is wrong with them is reported there; what their user does with the outcome is not.
	Judged bool
}

// A Set is the locks of a package.
type Set struct {
	*summaries.Info
	Locks    []*Lock
	Renewals []*Lock // in which the EXPIRE that prolongs it stands for the release
	Counters []*Lock // made of INCR and DEL or DECR
	// Semaphores let in as many as a limit says: INCR and DECR.
	Semaphores []*Lock
}

// FindLocks pairs the acquires of the package with its releases.
func (ix *Set) FindLocks() {
	var acquires, releases []*rediscmd.Command
	for _, fn := range ix.Funcs {
		for _, c := range ix.Commands[fn] {
			switch {
			case !c.Key.Known():
			case c.Op == ops.Acquire:
				acquires = append(acquires, c)
			case c.Op == ops.Delete || c.Op == ops.CompareDel:
				releases = append(releases, c)
			}
		}
	}
	for _, a := range acquires {
		for _, r := range releases {
			if ix.isLock(a, r) {
				ix.Locks = append(ix.Locks, &Lock{Acquire: a, Release: r})
			}
		}
	}
	ix.judge()
}

// judge finds out which locks are made up of others: a lock that a type makes up is a lock of its users, too. What is
// closest to the client comes first; locks at the same distance do not hide each other.
func (ix *Set) judge() {
	slices.SortStableFunc(ix.Locks,
		func(a, b *Lock) int { return cmp.Or(a.depth()-b.depth(), ix.distance(a)-ix.distance(b)) })
	for from := 0; from < len(ix.Locks); {
		to := from
		for to < len(ix.Locks) && ix.Locks[to].depth() == ix.Locks[from].depth() {
			l := ix.Locks[to]
			l.Judged = Responsible(l.Acquire).Judged && Responsible(l.Release).Judged
			to++
		}
		for _, l := range ix.Locks[from:to] {
			Responsible(l.Acquire).Judged, Responsible(l.Release).Judged = true, true
		}
		from = to
	}
}

// distance says how far apart the acquire and the release of a lock stand: findings name the nearest.
func (ix *Set) distance(l *Lock) int {
	a, r := l.Acquire, l.Release
	switch {
	case a.Fn == r.Fn:
		return 0
	case Belongs(a.Fn, r.Fn):
		return 1
	case ssax.ReceiverName(a.Fn) != "" && ssax.ReceiverName(a.Fn) == ssax.ReceiverName(r.Fn):
		return 2
	case ssax.SameFile(ix.Pass.Fset, a.Pos(), r.Pos()):
		return 3
	}
	return 4
}

// Belongs reports whether a releasing function belongs to an acquiring one: their names pair up, or it is a method of
// what the other hands out.
func Belongs(acquire, release *ssa.Function) bool {
	if namesPair(acquire, release) {
		return true
	}
	recv := ssax.ReceiverName(release)
	for v := range acquire.Signature.Results().Variables() {
		if recv != "" && ssax.FullTypeName(v.Type()) == recv {
			return true
		}
	}
	return false
}

func (l *Lock) depth() int { return l.Acquire.Depth() + l.Release.Depth() }

// isLock is the gate. It decides by the strongest evidence there is:
//
// A function that takes a key and ends it itself is no half of a lock for its callers, and SETNX whose outcome reaches
// nobody is one only where somebody says lock. Nor does anybody wait for a key that has just been made, as the entry of
// a registry is.
//
//   - in one function: the same key is acquired and, later, deleted on the way out, other than to undo a failure;
//   - in two functions, the releasing one without an acquire of its own, whose names pair up on one type, such as Lock
//     and Unlock: the keys have the same shape, be it only "the argument";
//   - in a method such as Release of a type that the acquiring function fills with the key: a lock handle;
//   - in two other functions of the package: the keys have the same, distinctive shape, and the key says that it is
//     a lock, or the release compares the owner. Otherwise it might as well be a cache entry and its invalidation.
func (ix *Set) isLock(a, r *rediscmd.Command) bool {
	if a.Call == r.Call || a.Ended || r.Ended || r.Forced || a.Key.Fresh() {
		return false
	}
	if a.Fn == r.Fn && a.Key.String() != r.Key.String() {
		return false // asked first: a long function has many pairs
	}
	if (speaksOfOther(a.Fn, a.Key) || speaksOfOther(r.Fn, r.Key)) && (a.Fn != r.Fn || !isCalledLock(a.Key) && !alwaysEnds(a, r)) {
		return false
	}
	if (throughOther(a) || throughOther(r)) && !speaksOfLock(a.Key) {
		return false
	}
	if answers.ReachesNobody(a) && !ix.LooksAgain(a) && !saysLock(a) && !saysLock(r) {
		return false
	}
	if a.Fn == r.Fn {
		return ssax.ComesAfter(a.Call, r.Call) && !ssax.UndoesFailureSince(a.Call, r.Call) &&
			!ix.onlyGivenBack(a, r) && (!answers.Skippable(a, r.Call) || ix.OwnerCompared(r) != nil) &&
			(answers.WhenHeld(a, r.Call) != answers.OnlyLost || (saysLock(a) || saysLock(r)) && answers.Inverted(a, r.Call))
	}
	if ix.InTest(a.Pos()) || ix.InTest(r.Pos()) || isForced(r.Fn) || ix.acquires(r) || ix.givesUp(r) || ix.isMark(a, r) {
		return false
	}
	if (isRelease(r.Fn) || endsHandle(a.Fn, r.Fn)) && handsOn(a, r.Key) {
		return true
	}
	if a.Key.Shape() != r.Key.Shape() {
		return namesPair(a.Fn, r.Fn) && isHandedKey(r)
	}
	if namesPair(a.Fn, r.Fn) {
		return true
	}
	if r.Op == ops.CompareDel && r.Compares && lockType(a.Fn, r.Fn) {
		return true
	}
	if !a.Key.Distinctive() || ssax.UndoesFailure(r.Call) {
		return false
	}
	return speaksOfLock(a.Key) || r.Compares || ix.renewedByOwner(a) ||
		ix.OwnerCompared(r) != nil && (saysHeld(a) || saysHeld(r) || storesToken(a))
}

// alwaysEnds reports whether a function defers a release once it has acquired, whatever comes then: what ends with each
// call, be it done or not, is held for the call alone, and no mark that something has been done, whatever it is called.
func alwaysEnds(a, r *rediscmd.Command) bool {
	fn := a.Call.Parent()
	deferred := ssax.DeferOf(r.Call, fn)
	if deferred == nil || r.Call != ssa.CallInstruction(deferred) && r.Call.Block().Idom() != nil {
		return false
	}
	return answers.WhenHeld(a, r.Call) == answers.OnlyHeld
}

// renewedByOwner reports whether the function of an acquire goes on to prolong the key for as long as it holds its value:
// whatever it is called, it is held.
func (ix *Set) renewedByOwner(a *rediscmd.Command) bool {
	return slices.ContainsFunc(ix.Commands[a.Fn], func(c *rediscmd.Command) bool {
		return c.Op == ops.CompareExpire && c.Key.String() == a.Key.String() && ssax.ComesAfter(a.Call, c.Call)
	})
}

// isHandedKey reports whether a release is given the whole key by its caller, alone or in a list.
func isHandedKey(r *rediscmd.Command) bool {
	k := r.Key
	if k.Op == keyexpr.Each {
		k = k.Args[0]
	}
	return k.Op == keyexpr.Param && k.Text != "0"
}

// onlyGivenBack reports whether a key is deleted on nothing but ways out with an error, or behind the last of several
// attempts: a claim that is given back where the rest fails, such as a place in a queue, and kept where it succeeds.
func (ix *Set) onlyGivenBack(a, r *rediscmd.Command) bool {
	givenBack := func(c *rediscmd.Command) bool {
		return ssax.LeavesWithError(c.Call) && !(speaksOfLock(a.Key) && ssax.GoesOn(c.Call)) || ssax.UndoesOnError(c.Call) ||
			!speaksOfLock(a.Key) && ssax.FollowsAttempts(a.Call, c.Call)
	}
	return givenBack(r) && !slices.ContainsFunc(ix.Commands[r.Fn], func(c *rediscmd.Command) bool {
		return c.Op.Releases() && c.Key.String() == a.Key.String() && ssax.ComesAfter(a.Call, c.Call) &&
			!ssax.UndoesFailureSince(a.Call, c.Call) && !givenBack(c)
	})
}

// Export tells importing packages what the functions do, and which of it has been judged here.
func (ix *Set) Export() {
	for _, cmds := range ix.Commands {
		for _, c := range cmds {
			c.Judged = c.Judged || Responsible(c).Judged
		}
	}
	ix.ExportSummaries()
}

// Responsible is the command, on the way from a call to what is issued in the end, that speaks of a lock: a wrapper for
// all kinds of keys is not to blame for what its callers do with it.
func Responsible(c *rediscmd.Command) *rediscmd.Command {
	for c.Origin != nil && (c.Origin.Key.Distinctive() || saysLock(c.Origin)) {
		c = c.Origin
	}
	return c
}

// Blamed is the command to report: that of a helper, if the helper is there for the function that calls it alone.
func (ix *Set) Blamed(c *rediscmd.Command) *rediscmd.Command {
	for c.Origin != nil && c.Origin.Fn != c.Fn && !token.IsExported(c.Origin.Fn.Name()) && ix.onlyCalledIn(c.Origin.Fn, c.Fn) {
		c = c.Origin
	}
	return c
}

// onlyCalledIn reports whether a function of the package is used in no other function than one, and is no value.
func (ix *Set) onlyCalledIn(fn, caller *ssa.Function) bool {
	for _, other := range ix.Funcs {
		if other == fn || ssax.Outermost(other) == caller {
			continue
		}
		uses := false
		ssax.EachInstr(other, func(instr ssa.Instruction) {
			for _, op := range instr.Operands(nil) {
				uses = uses || *op == ssa.Value(fn)
			}
		})
		if uses {
			return false
		}
	}
	return true
}

// Related reports whether a command elsewhere in the package works on the key of c. A key that is nothing but an
// argument is taken for the same only among the methods of one type, and not where the other function has a lock of
// its own.
func (ix *Set) Related(c, other *rediscmd.Command) bool {
	if c.Fn == other.Fn {
		return c.Key.String() == other.Key.String()
	}
	if c.Key.Shape() != other.Key.Shape() {
		return false
	}
	return c.Key.Distinctive() || ssax.ReceiverName(c.Fn) != "" &&
		ssax.ReceiverName(c.Fn) == ssax.ReceiverName(other.Fn) &&
		!ix.acquires(other)
}

// acquires reports whether the function of a command takes the lock itself.
func (ix *Set) acquires(c *rediscmd.Command) bool {
	for _, a := range ix.Commands[c.Fn] {
		if (a.Op == ops.Acquire || a.Op == ops.Count) && a.Key.String() == c.Key.String() {
			return true
		}
	}
	return false
}

// givesUp reports whether a release runs only where its function could not get another lock: it undoes what was taken
// before.
func (ix *Set) givesUp(r *rediscmd.Command) bool {
	return slices.ContainsFunc(ix.Commands[r.Fn], func(a *rediscmd.Command) bool {
		return a.Op == ops.Acquire && a.Key.String() != r.Key.String() && answers.WhenHeld(a, r.Call) == answers.OnlyLost
	})
}

// handsOn reports whether the function of an acquire stores the key in the field that a release reads it from.
func handsOn(a *rediscmd.Command, key keyexpr.Expr) bool {
	if key.Op != keyexpr.Field {
		return false
	}
	if slices.ContainsFunc(StoredBy(a.Fn, key.Text), func(k keyexpr.Expr) bool { return k.String() == a.Key.String() }) {
		return true
	}
	found := false
	ssax.EachCall(a.Fn, func(call ssa.CallInstruction) {
		maker := call.Common().StaticCallee()
		if maker == nil || maker.Pkg != a.Fn.Pkg || maker.Parent() != nil {
			return
		}
		var args []keyexpr.Expr
		for _, v := range call.Common().Args {
			args = append(args, keyexpr.Of(v))
		}
		found = found || slices.ContainsFunc(StoredBy(maker, key.Text), func(k keyexpr.Expr) bool {
			return k.Any(func(k keyexpr.Expr) bool { return k.Op == keyexpr.Param }) && k.Bind(args).String() == a.Key.String()
		})
	})
	return found
}

// StoredBy is what a function stores in a field.
func StoredBy(fn *ssa.Function, field string) []keyexpr.Expr {
	var list []keyexpr.Expr
	for _, b := range fn.Blocks {
		for _, instr := range b.Instrs {
			st, ok := instr.(*ssa.Store)
			if !ok {
				continue
			}
			fa, ok := st.Addr.(*ssa.FieldAddr)
			if ok && ssax.FieldName(fa.X.Type(), fa.Field) == field {
				list = append(list, keyexpr.Of(st.Val))
			}
		}
	}
	return list
}
