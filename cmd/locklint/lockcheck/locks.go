package lockcheck

import (
	"cmp"
	"go/token"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/ssa"
)

// redisChecks are the checks of hand-rolled locks.
var redisChecks = []*Check{ll2001, ll2002, ll2003, ll2004, ll2005, ll2006, ll2007, ll2008, ll2009, ll2010, ll2011}

// A lock is an acquire and a release that play their roles on one key. Everything that LL2 reports starts here:
// SETNX by itself is mostly de-duplication, throttling or a cache, and stays silent.
type lock struct {
	acquire *command
	release *command // opDelete or opCompareDel

	// judged: both commands belong to a lock that has been found closer to the client, by this package or another. What
	// is wrong with them is reported there; what their user does with the outcome is not.
	judged bool
}

// A lockSet is the locks of a package.
type lockSet struct {
	*summaries
	locks    []*lock
	renewals []*lock // in which the EXPIRE that prolongs it stands for the release
	counters []*lock // made of INCR and DEL or DECR
}

// findLocks pairs the acquires of the package with its releases.
func (ix *lockSet) findLocks() {
	var acquires, releases []*command
	for _, fn := range ix.funcs {
		for _, c := range ix.commands[fn] {
			switch {
			case !c.key.known():
			case c.op == opAcquire:
				acquires = append(acquires, c)
			case c.op == opDelete || c.op == opCompareDel:
				releases = append(releases, c)
			}
		}
	}
	for _, a := range acquires {
		for _, r := range releases {
			if ix.isLock(a, r) {
				ix.locks = append(ix.locks, &lock{acquire: a, release: r})
			}
		}
	}
	ix.judge()
}

// judge finds out which locks are made up of others: a lock that a type makes up is a lock of its users, too. What is
// closest to the client comes first; locks at the same distance do not hide each other.
func (ix *lockSet) judge() {
	slices.SortStableFunc(ix.locks,
		func(a, b *lock) int { return cmp.Or(a.depth()-b.depth(), ix.distance(a)-ix.distance(b)) })
	for from := 0; from < len(ix.locks); {
		to := from
		for to < len(ix.locks) && ix.locks[to].depth() == ix.locks[from].depth() {
			l := ix.locks[to]
			l.judged = l.acquire.root().judged && l.release.root().judged
			to++
		}
		for _, l := range ix.locks[from:to] {
			l.acquire.root().judged, l.release.root().judged = true, true
		}
		from = to
	}
}

// distance says how far apart the acquire and the release of a lock stand: findings name the nearest.
func (ix *lockSet) distance(l *lock) int {
	a, r := l.acquire, l.release
	switch {
	case a.fn == r.fn:
		return 0
	case belongs(a.fn, r.fn):
		return 1
	case receiverName(a.fn) != "" && receiverName(a.fn) == receiverName(r.fn):
		return 2
	case sameFile(ix.pass.Fset, a.pos(), r.pos()):
		return 3
	}
	return 4
}

// belongs reports whether a releasing function belongs to an acquiring one: their names pair up, or it is a method of
// what the other hands out.
func belongs(acquire, release *ssa.Function) bool {
	if namesPair(acquire, release) {
		return true
	}
	recv := receiverName(release)
	for v := range acquire.Signature.Results().Variables() {
		if recv != "" && fullTypeName(v.Type()) == recv {
			return true
		}
	}
	return false
}

func (l *lock) depth() int { return l.acquire.depth() + l.release.depth() }

// isLock is the gate. It decides by the strongest evidence there is:
//
//   - in one function: the same key is acquired and, later, deleted on the way out, other than to undo a failure;
//   - in two functions, the releasing one without an acquire of its own, whose names pair up on one type, such as Lock
//     and Unlock: the keys have the same shape, be it only "the argument";
//   - in a method such as Release of a type that the acquiring function fills with the key: a lock handle;
//   - in two other functions of the package: the keys have the same, distinctive shape, and the key says that it is
//     a lock, or the release compares the owner. Otherwise it might as well be a cache entry and its invalidation.
func (ix *lockSet) isLock(a, r *command) bool {
	if a.call == r.call {
		return false
	}
	if speaksOfOther(a.fn, a.key) || speaksOfOther(r.fn, r.key) {
		return false
	}
	if a.fn == r.fn {
		return a.key.String() == r.key.String() && comesAfter(a.call, r.call) && !undoesFailure(r.call) &&
			(!skippable(a, r.call) || ix.ownerCompared(r) != nil) && whenHeld(a, r.call) != onlyLost
	}
	if ix.inTest(r.pos()) || isForced(r.fn) || ix.acquires(r) {
		return false
	}
	if isRelease(r.fn) && handsOn(a, r.key) {
		return true
	}
	if a.key.shape() != r.key.shape() {
		return false
	}
	if namesPair(a.fn, r.fn) {
		return true
	}
	if !a.key.distinctive() || undoesFailure(r.call) {
		return false
	}
	return speaksOfLock(a.key) || r.compares || ix.ownerCompared(r) != nil
}

// related reports whether a command elsewhere in the package works on the key of c. A key that is nothing but an
// argument is taken for the same only among the methods of one type, and not where the other function has a lock of
// its own.
func (ix *lockSet) related(c, other *command) bool {
	if c.fn == other.fn {
		return c.key.String() == other.key.String()
	}
	if c.key.shape() != other.key.shape() {
		return false
	}
	return c.key.distinctive() || receiverName(c.fn) != "" && receiverName(c.fn) == receiverName(other.fn) &&
		!ix.acquires(other)
}

// acquires reports whether the function of a command takes the lock itself.
func (ix *lockSet) acquires(c *command) bool {
	for _, a := range ix.commands[c.fn] {
		if (a.op == opAcquire || a.op == opCount) && a.key.String() == c.key.String() {
			return true
		}
	}
	return false
}

// handsOn reports whether the function of an acquire stores the key in the field that a release reads it from.
func handsOn(a *command, key keyExpr) bool {
	if key.Op != keyField {
		return false
	}
	for _, b := range a.fn.Blocks {
		for _, instr := range b.Instrs {
			st, ok := instr.(*ssa.Store)
			if !ok {
				continue
			}
			fa, ok := st.Addr.(*ssa.FieldAddr)
			if ok && fieldName(fa.X.Type(), fa.Field) == key.Text && keyOf(st.Val).String() == a.key.String() {
				return true
			}
		}
	}
	return false
}

// inTest reports whether a position lies in a _test.go file: tests delete keys to start afresh.
func (ix *program) inTest(pos token.Pos) bool {
	return strings.HasSuffix(filepath.Base(ix.pass.Fset.Position(pos).Filename), "_test.go")
}

// comesAfter reports whether second can run after first. Across function literals it is taken for granted: they run
// when their function says, mostly at its end.
func comesAfter(first, second ssa.CallInstruction) bool {
	if first.Parent() != second.Parent() {
		return true
	}
	if _, ok := second.(*ssa.Defer); ok {
		return true
	}
	from, to := first.Block(), second.Block()
	return from == to && indexIn(from, first) < indexIn(to, second) || reaches(from, to)
}

func indexIn(b *ssa.BasicBlock, instr ssa.Instruction) int {
	for i, in := range b.Instrs {
		if in == instr {
			return i
		}
	}
	return -1
}
