package leases

import (
	"go/token"

	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/keyexpr"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

// relations are how two values may stand to each other: a set of less, equal and greater.
type relations uint8

const (
	less relations = 1 << iota
	equal
	greater
	anyRelation = less | equal | greater
)

// holdsFor are the relations for which a comparison is true; none for other operators.
func holdsFor(op token.Token) relations {
	switch op {
	case token.EQL:
		return equal
	case token.NEQ:
		return less | greater
	case token.LSS:
		return less
	case token.LEQ:
		return less | equal
	case token.GTR:
		return greater
	case token.GEQ:
		return greater | equal
	}
	return 0
}

// swapped are the relations of the second value to the first.
func (r relations) swapped() relations {
	return r&equal | r&less<<2 | r&greater>>2
}

// An asked is what a branch asks, in a form that all branches that ask about the same have in common, and for which
// relations the branch is taken. What is not compared counts as equal where it is true.
type asked struct {
	key  string
	when relations
	// stops are the relations that are left where the condition of a loop is false; see stopsAt.
	stops   relations
	next    further
	besides []beside
}

// asked is condition, worked out once for each value: every visit of a branch needs it.
func (li *Info) asked(cond ssa.Value) asked {
	a, ok := li.conditions[cond]
	if !ok {
		a = condition(cond)
		li.conditions[cond] = a
		readBy(cond, func(r route) {
			for n := range len(r.steps) + 1 { // who sets a struct sets its fields
				whole := route{r.root, r.steps[:n]}.key()
				li.askedOf[whole] = append(li.askedOf[whole], a.key)
			}
		})
		if b, isCmp := cond.(*ssa.BinOp); isCmp {
			a.besides = li.besides(b)
			li.conditions[cond] = a
		}
	}
	return a
}

// readBy calls found with the way to each variable, package variable and field that a value is made of.
func readBy(v ssa.Value, found func(route)) {
	ssax.AnyPart(v, ssax.MaxDepth, func(v ssa.Value) (bool, []ssa.Value) {
		load, ok := v.(*ssa.UnOp)
		if !ok || load.Op != token.MUL {
			return false, ssax.Operands(v)
		}
		if r, ok := routeTo(load.X, 0); ok {
			found(r)
		}
		return false, nil
	})
}

// unanswer forgets the answers to the conditions that ask about a variable, a package variable or a field that is set.
func (f *follower) unanswer(addr ssa.Value, s *pathState) {
	if len(s.conds) == 0 {
		return
	}
	if r, ok := routeTo(addr, 0); ok {
		f.unanswerAt(r, s)
	}
}

// unanswerAt is unanswer for what a route leads to.
func (f *follower) unanswerAt(r route, s *pathState) {
	for _, key := range f.li.askedOf[r.key()] {
		delete(s.conds, key)
	}
}

// condition says what a condition asks, so that x == nil, x != nil and nil == x are one, and x < y and x >= y.
func condition(c ssa.Value) asked {
	switch c := c.(type) {
	case *ssa.UnOp:
		if c.Op == token.NOT {
			a := condition(c.X)
			return asked{key: a.key, when: anyRelation &^ a.when, next: a.next}
		}
	case *ssa.BinOp:
		when := holdsFor(c.Op)
		x, y := keyexpr.Of(c.X), keyexpr.Of(c.Y)
		if when != 0 && x.Known() && y.Known() {
			stops, next := stopsAt(c), furtherRound(c)
			first, second := x.String(), y.String()
			if second < first {
				first, second, when, stops = second, first, when.swapped(), stops.swapped()
			}
			return asked{key: first + "<=>" + second, when: when, stops: stops, next: next}
		}
	}
	return asked{key: keyexpr.Of(c).String(), when: equal}
}

// Excludes reports whether one condition has no such outcome where another, of the same values, has another.
func Excludes(known ssa.Value, is bool, cond ssa.Value, outcome bool) bool {
	x, y := condition(known), condition(cond)
	return x.key == y.key && x.left(is)&y.left(outcome) == 0
}

// left are the relations with which a condition has an outcome.
func (a asked) left(outcome bool) relations {
	switch {
	case outcome:
		return a.when
	case a.stops != 0:
		return a.stops
	}
	return anyRelation &^ a.when
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

// remember keeps the outcome of a condition that is tested again, so that all tests agree.
func (f *follower) remember(s *pathState, cond ssa.Value, outcome bool) bool {
	a := f.li.asked(cond)
	left := a.left(outcome)
	if old, ok := s.conds[a.key]; ok {
		left &= old
	}
	if left&equal == 0 && a.next.key != "" {
		s.conds[comesTrue+a.next.key] = a.next.when
	}
	f.stepOn(s, a, outcome)
	if f.tested[a.key] > 1 && f.bearing.has(cond) {
		s.conds[a.key] = left
	}
	return left != 0
}
