package leases

import (
	"golang.org/x/tools/go/ssa"
)

// Whether there is a lock may be kept in a variable whose content nobody can follow:
//
//	name := ""
//	for _, n := range names {
//		if mutexes[n].TryLock() == nil {
//			name = n
//			break
//		}
//	}
//	if name == "" {
//		return ErrBusy
//	}
//
// A condition that asks such a variable tells those that have the lock from the others. The way that the others take is
// then not for those that have it, and the other way round; where not even that is known, nothing is said of either.

// A doubt is what becomes of those who come to a branch with one outcome of the acquire, and do not know which way is
// theirs.
type doubt uint8

const (
	noDoubt doubt = iota
	barred        // this way is that of the other outcome
	silent        // either may be theirs
)

// A way is an edge that is taken with an outcome of the acquire.
type way struct {
	edge
	granted bool
}

// isCalm reports whether no check has anything to say of how a lease was followed.
func (flow *Flow) isCalm() bool {
	if len(flow.Leaks) > 0 || len(flow.Undue) > 0 {
		return false
	}
	for instr := range flow.Outside {
		if flow.Inside[instr] {
			return false
		}
	}
	return true
}

// doubts finds the branches on which a variable decides that says whether there is a lock.
func (flow *Flow) doubts() map[way]doubt {
	found := map[way]doubt{}
	for _, b := range flow.Fn.Blocks {
		branch, ok := b.Instrs[len(b.Instrs)-1].(*ssa.If)
		if !ok || b.Succs[0] == b.Succs[1] {
			continue
		}
		var granted, refused [2]bool
		for i, s := range b.Succs {
			granted[i], refused[i] = flow.Taken(b, s)
		}
		if !granted[0] && !granted[1] || !refused[0] && !refused[1] || !(teller{flow, map[ssa.Value]bool{}}).tells(branch.Cond) {
			continue
		}
		flow.doubt(found, b, true, granted, refused)
		flow.doubt(found, b, false, refused, granted)
	}
	return found
}

// doubt says which ways are those of the others, for who takes both.
func (flow *Flow) doubt(found map[way]doubt, b *ssa.BasicBlock, outcome bool, mine, others [2]bool) {
	if !mine[0] || !mine[1] {
		return
	}
	for i, s := range b.Succs {
		d := silent
		if others[0] != others[1] {
			d = noDoubt
			if others[i] {
				d = barred
			}
		}
		found[way{edge{b, s}, outcome}] = d
	}
}
