package leases

import (
	"go/token"
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

// Where too many ways lead through a function, a lease is followed once more with less: with the variables that have a
// bearing on it alone. Those are the ones that hold something else where the acquire has failed, and those that decide
// whether the acquire or something with the lock runs. Of all others, both ways count.

// maxBearing bounds the blocks of a function for which this is worked out.
const maxBearing = 300

// bearings are the bits of the values and variables that have a bearing on a lease.
type bearings struct {
	li      *Info
	site    *Site
	places  *places
	ifs     []*ssa.If
	instrs  []ssa.Instruction
	tells   map[ssa.Value]int64 // what holds something else where the acquire has failed
	matters map[ssa.Value]int64 // what decides on the lease
	weighed map[*ssa.If]bool
}

// bearingsOn finds those of a lease, nil where the function is too large.
func (li *Info) bearingsOn(fn *ssa.Function, site *Site) *bearings {
	b := &bearings{li: li, site: site, places: li.placesIn(fn), tells: map[ssa.Value]int64{},
		matters: map[ssa.Value]int64{}, weighed: map[*ssa.If]bool{}}
	blocks := 0
	ssax.EachInstr(fn, func(instr ssa.Instruction) {
		b.instrs = append(b.instrs, instr)
		if instr.Block().Instrs[0] == instr {
			blocks++
		}
		if branch, ok := instr.(*ssa.If); ok {
			b.ifs = append(b.ifs, branch)
		}
	})
	if blocks > maxBearing {
		return nil
	}
	b.spread()
	for _, branch := range b.ifs {
		if b.tells[branch.Cond] != 0 || b.decidesOnLease(branch) {
			b.trace(branch.Cond, allBits)
		}
	}
	return b
}

// spread finds what holds something else where the acquire has failed.
func (b *bearings) spread() {
	b.tells[b.site.Call] = allBits
	for changed := true; changed; {
		changed = false
		tell := func(v ssa.Value, bits int64) {
			if old := b.tells[v]; old|bits != old {
				b.tells[v] = old | bits
				changed = true
			}
		}
		for _, instr := range b.instrs {
			switch instr := instr.(type) {
			case *ssa.Phi:
				for _, e := range instr.Edges {
					tell(instr, b.tells[e])
				}
			case *ssa.BinOp:
				tell(instr, b.through(instr))
			case *ssa.Store:
				if cell := b.places.variable(instr.Addr); cell != nil {
					tell(cell, b.tells[instr.Val])
				}
				for _, w := range b.places.wholes[instr] {
					if w.from != nil {
						tell(w.to, b.tells[w.from])
					}
				}
			case *ssa.UnOp:
				if cell := b.places.variable(instr.X); instr.Op == token.MUL && cell != nil {
					tell(instr, b.tells[cell])
				} else if instr.Op != token.MUL {
					tell(instr, b.tells[instr.X])
				}
			case *ssa.Extract:
				tell(instr, b.tells[instr.Tuple])
			case *ssa.Convert, *ssa.ChangeType, *ssa.ChangeInterface, *ssa.MakeInterface, *ssa.Call, *ssa.Slice:
				for _, op := range instr.Operands(nil) {
					if *op != nil && b.tells[*op] != 0 {
						tell(instr.(ssa.Value), allBits)
					}
				}
			case *ssa.If:
				if b.tells[instr.Cond] != 0 && !b.weighed[instr] {
					b.weighed[instr] = true
					b.weigh(instr, tell)
				}
			}
		}
	}
}

// through are the bits of the result of an operation that tell something.
func (b *bearings) through(op *ssa.BinOp) int64 {
	if !worksOnBits(op) {
		if b.tells[op.X]|b.tells[op.Y] != 0 {
			return allBits
		}
		return 0
	}
	by, _ := constNumber(op.Y)
	if op.Op == token.AND {
		return b.tells[op.X] & by
	}
	return b.tells[op.X]
}

// weigh finds what is set in different ways behind the two outcomes of a branch that tells something.
func (b *bearings) weigh(branch *ssa.If, tell func(ssa.Value, int64)) {
	yes, no := sides(branch)
	for _, instr := range b.instrs {
		block := instr.Block()
		if block.Parent() != branch.Parent() {
			continue
		}
		switch instr := instr.(type) {
		case *ssa.Phi:
			tell(instr, differing(instr, branch, yes, no))
		case *ssa.Store:
			if yes[block] == no[block] {
				continue
			}
			if cell := b.places.variable(instr.Addr); cell != nil {
				tell(cell, b.changed(instr, cell))
			}
			for _, w := range b.places.wholes[instr] {
				tell(w.to, allBits)
			}
		case *ssa.Call:
			if yes[block] == no[block] {
				continue
			}
			for _, a := range instr.Call.Args { // it may set what it is given the address of
				if cell := b.places.variable(a); cell != nil {
					tell(cell, allBits)
				}
			}
		}
	}
}

// sides are the blocks that can run behind the two outcomes of a branch before it is reached again.
func sides(branch *ssa.If) (yes, no map[*ssa.BasicBlock]bool) {
	b := branch.Block()
	yes, no = map[*ssa.BasicBlock]bool{}, map[*ssa.BasicBlock]bool{}
	ssax.Reach(b.Succs[0], b, yes)
	ssax.Reach(b.Succs[1], b, no)
	return yes, no
}

// differing are the bits of a phi that are others behind one outcome of a branch than behind the other.
func differing(phi *ssa.Phi, branch *ssa.If, yes, no map[*ssa.BasicBlock]bool) (bits int64) {
	from, to := branch.Block(), phi.Block()
	comes := func(side map[*ssa.BasicBlock]bool, at *ssa.BasicBlock, pred *ssa.BasicBlock) bool {
		return side[pred] || pred == from && at == to
	}
	for i, p := range to.Preds {
		for j, q := range to.Preds {
			if phi.Edges[i] == phi.Edges[j] || !comes(yes, from.Succs[0], p) || !comes(no, from.Succs[1], q) ||
				comes(no, from.Succs[1], p) && comes(yes, from.Succs[0], q) {
				continue
			}
			bits |= bitsBetween(phi.Edges[i], phi.Edges[j])
		}
	}
	return bits
}

// bitsBetween are the bits in which two values may differ.
func bitsBetween(x, y ssa.Value) int64 {
	for _, pair := range [2][2]ssa.Value{{x, y}, {y, x}} {
		if made, ok := pair[0].(*ssa.BinOp); ok && worksOnBits(made) && made.X == pair[1] {
			return bitsChanged(made)
		}
	}
	return allBits
}

// bitsChanged are the bits of a number that an operation with a constant changes.
func bitsChanged(b *ssa.BinOp) int64 {
	by, _ := constNumber(b.Y)
	if b.Op == token.AND {
		return ^by
	}
	return by
}

// changed are the bits of a variable that a store changes.
func (b *bearings) changed(st *ssa.Store, cell ssa.Value) int64 {
	made, ok := st.Val.(*ssa.BinOp)
	if !ok || !worksOnBits(made) {
		return allBits
	}
	if load, ok := made.X.(*ssa.UnOp); ok && load.Op == token.MUL && b.places.variable(load.X) == cell {
		return bitsChanged(made)
	}
	return allBits
}

// decidesOnLease reports whether the acquire, or something with the lease, runs behind one outcome of a branch only.
func (b *bearings) decidesOnLease(branch *ssa.If) bool {
	yes, no := sides(branch)
	return slices.ContainsFunc(b.instrs, func(instr ssa.Instruction) bool {
		call, ok := instr.(ssa.CallInstruction)
		return ok && yes[instr.Block()] != no[instr.Block()] && b.concerns(call)
	})
}

// concerns reports whether a call is the acquire, or is given the lease.
func (b *bearings) concerns(call ssa.CallInstruction) bool {
	if call == ssa.CallInstruction(b.site.Call) || ssax.Literal(call.Common()) != nil {
		return true
	}
	c := call.Common()
	return b.site.Has(ssax.SoleValue(c.Value)) || slices.ContainsFunc(c.Args, func(a ssa.Value) bool {
		return b.site.Has(ssax.SoleValue(a))
	})
}

// trace finds what a condition that matters is made of.
func (b *bearings) trace(v ssa.Value, bits int64) {
	old := b.matters[v]
	if old|bits == old {
		return
	}
	b.matters[v] = old | bits
	switch v := v.(type) {
	case *ssa.Phi:
		for _, e := range v.Edges {
			b.trace(e, bits)
		}
	case *ssa.BinOp:
		if by, ok := constNumber(v.Y); ok && v.Op == token.AND {
			bits &= by
		} else if !worksOnBits(v) {
			bits = allBits
		}
		b.trace(v.X, bits)
		b.trace(v.Y, bits)
	case *ssa.UnOp:
		if v.Op != token.MUL {
			b.trace(v.X, allBits)
			return
		}
		cell := b.places.variable(v.X)
		if cell == nil {
			return
		}
		b.traceVariable(cell, bits)
	case *ssa.Convert, *ssa.ChangeType, *ssa.ChangeInterface, *ssa.MakeInterface, *ssa.Call, *ssa.Slice:
		for _, op := range v.(ssa.Instruction).Operands(nil) {
			if *op != nil {
				b.trace(*op, allBits)
			}
		}
	}
}

// traceVariable finds what a variable or place that matters is set to.
func (b *bearings) traceVariable(cell ssa.Value, bits int64) {
	known := b.matters[cell]&bits == bits
	b.matters[cell] |= bits
	eachUse(cell, func(instr ssa.Instruction, addr ssa.Value) bool {
		if st, ok := instr.(*ssa.Store); ok && st.Addr == addr {
			b.trace(st.Val, bits)
		}
		return true
	})
	if p, ok := cell.(*place); ok && !known {
		for _, from := range p.from {
			b.traceVariable(from, bits)
		}
	}
}

// of are the subjects that have a bearing on the lease, with the bits that do.
func (b *bearings) of(all subjects) subjects {
	some := subjects{}
	for v, asked := range all {
		bits := b.matters[v]
		if bits != allBits && bits != 0 {
			asked.bits &= bits
		}
		if bits != 0 && asked.bits != 0 {
			some[v] = asked
		}
	}
	return some
}

// has reports whether a value, or a variable, has a bearing on the lease.
func (b *bearings) has(v ssa.Value) bool { return b == nil || b.matters[v] != 0 }
