package leases

import "golang.org/x/tools/go/ssa"

// An asked is what a branch asks, in a form that all branches that ask the same have in common, and whether the branch
// asks the opposite.
type asked struct {
	key     string
	negated bool
}

// asked is condition, worked out once for each value: every visit of a branch needs it.
func (li *Info) asked(cond ssa.Value) asked {
	a, ok := li.conditions[cond]
	if !ok {
		a.key, a.negated = condition(cond)
		li.conditions[cond] = a
	}
	return a
}

// testedIn counts how often a function tests each condition. Only those tested again are worth remembering.
func (li *Info) testedIn(fn *ssa.Function) map[string]int {
	if n, ok := li.tested[fn]; ok {
		return n
	}
	n := map[string]int{}
	for _, b := range fn.Blocks {
		if cond, ok := b.Instrs[len(b.Instrs)-1].(*ssa.If); ok {
			n[li.asked(cond.Cond).key]++
		}
	}
	li.tested[fn] = n
	return n
}
