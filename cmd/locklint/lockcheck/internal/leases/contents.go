package leases

import (
	"go/constant"
	"go/token"
	"go/types"
	"math"

	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

// A content is what a path knows of a number, a text or a list: the bounds of the number, or of the length.
type content struct {
	lo, hi int64
	text   string
	exact  bool // text is all of it
	// computed: arithmetic has made it, so that a loop may make it anew in every round.
	computed bool
	// bits are the only ones of a number that are known, with lo for their values; 0 where bounds are known.
	bits int64
}

// unknownOf is what is known of any value of a type.
func unknownOf(t types.Type) content {
	if isNumber(t) {
		return content{lo: math.MinInt64, hi: math.MaxInt64}
	}
	return content{hi: math.MaxInt64}
}

func just(n int64) content { return content{lo: n, hi: n} }
func letters(t string) content {
	return content{lo: int64(len(t)), hi: int64(len(t)), text: t, exact: true}
}

// says reports whether a content says more than the type of its value does.
func (c content) says(t types.Type) bool {
	u := unknownOf(t)
	return c.exact || c.bits != 0 || c.lo > u.lo || c.hi < u.hi
}

func isNumber(t types.Type) bool { return basicInfo(t)&types.IsInteger != 0 }

func isText(t types.Type) bool { return basicInfo(t)&types.IsString != 0 }

func isEmptyText(v ssa.Value) bool {
	c, ok := v.(*ssa.Const)
	return ok && c.Value != nil && c.Value.Kind() == constant.String && constant.StringVal(c.Value) == ""
}

func isList(t types.Type) bool {
	_, ok := t.Underlying().(*types.Slice)
	return ok
}

func basicInfo(t types.Type) types.BasicInfo {
	if b, ok := t.Underlying().(*types.Basic); ok {
		return b.Info()
	}
	return 0
}

// constNumber is the value of an integer constant.
func constNumber(v ssa.Value) (int64, bool) {
	c, ok := v.(*ssa.Const)
	if !ok || c.Value == nil || c.Value.Kind() != constant.Int {
		return 0, false
	}
	return constant.Int64Val(c.Value)
}

// constContent is what a constant holds.
func constContent(c *ssa.Const) content {
	switch {
	case c.Value == nil:
		if isList(c.Type()) {
			return just(0)
		}
	case c.Value.Kind() == constant.String:
		return letters(constant.StringVal(c.Value))
	case c.Value.Kind() == constant.Int:
		if n, ok := constant.Int64Val(c.Value); ok && isNumber(c.Type()) {
			return just(n)
		}
	}
	return unknownOf(c.Type())
}

// zeroContent is what a variable of a type holds when it is declared.
func zeroContent(t types.Type) content {
	if isText(t) {
		return letters("")
	}
	return just(0)
}

// content is what a path knows of a value. Phis and loads are known from when they run, whatever is made of them is
// worked out when it is needed.
func (s *pathState) content(v ssa.Value, depth int) content {
	if c, ok := v.(*ssa.Const); ok {
		return constContent(c)
	}
	if c, ok := s.contents[v]; ok {
		return c
	}
	if n, ok := s.known[v].number(); ok && isNumber(v.Type()) {
		return just(n)
	}
	if depth > ssax.MaxDepth {
		return unknownOf(v.Type())
	}
	switch v := v.(type) {
	case *ssa.ChangeType:
		return s.content(v.X, depth+1)
	case *ssa.Convert:
		switch {
		case isNumber(v.Type()) && isNumber(v.X.Type()):
			return fitting(s.content(v.X, depth+1).whole(v.X.Type()), v.Type())
		case isText(v.Type()) && isText(v.X.Type()):
			return s.content(v.X, depth+1)
		}
	case *ssa.BinOp:
		if isNumber(v.Type()) || isText(v.Type()) {
			x, y := s.content(v.X, depth+1), s.content(v.Y, depth+1)
			if x.bits != 0 || y.bits != 0 {
				return bitwise(v, x, y)
			}
			c := arithmetic(v, x, y)
			if isNumber(v.Type()) {
				c = fitting(c, v.Type())
			}
			return c
		}
	case *ssa.MakeSlice:
		return s.content(v.Len, depth+1).whole(v.Len.Type())
	case *ssa.Slice:
		if list, ok := ssax.Variadic(v); ok {
			return just(int64(len(list)))
		}
	case *ssa.Call:
		return s.builtin(v, depth)
	}
	return unknownOf(v.Type())
}

// builtin is what a call of len or append yields.
func (s *pathState) builtin(call *ssa.Call, depth int) content {
	if isLen(call) {
		if t := call.Call.Args[0].Type(); isList(t) || isText(t) {
			c := s.content(call.Call.Args[0], depth+1)
			return content{lo: c.lo, hi: c.hi, computed: c.computed}
		}
		return content{hi: math.MaxInt64}
	}
	list, more, ok := ssax.Appended(call)
	if !ok || !isList(call.Type()) {
		return unknownOf(call.Type())
	}
	c, added := s.content(list, depth+1), s.content(more, depth+1)
	return content{lo: plus(c.lo, added.lo), hi: plus(c.hi, added.hi), computed: true}
}

func isLen(call *ssa.Call) bool {
	b, ok := call.Call.Value.(*ssa.Builtin)
	return ok && b.Name() == "len"
}

// fitting is what is known of a number that is kept in a type: nothing, if it may be too large for that and wraps around.
// What has no bound is not taken for that.
func fitting(c content, t types.Type) content {
	b, ok := t.Underlying().(*types.Basic)
	if !ok {
		return c
	}
	lo, hi := int64(math.MinInt64), int64(math.MaxInt64)
	switch b.Kind() {
	case types.Int8:
		lo, hi = math.MinInt8, math.MaxInt8
	case types.Int16:
		lo, hi = math.MinInt16, math.MaxInt16
	case types.Int32:
		lo, hi = math.MinInt32, math.MaxInt32
	case types.Uint8:
		lo, hi = 0, math.MaxUint8
	case types.Uint16:
		lo, hi = 0, math.MaxUint16
	case types.Uint32:
		lo, hi = 0, math.MaxUint32
	case types.Uint, types.Uint64, types.Uintptr:
		lo = 0
	}
	if c.lo < lo || c.hi > hi {
		return unknownOf(t)
	}
	return c
}

// arithmetic is what an operation makes of two values, whatever type holds it.
func arithmetic(b *ssa.BinOp, x, y content) content {
	if isText(b.Type()) {
		return content{lo: plus(x.lo, y.lo), hi: plus(x.hi, y.hi), text: x.text + y.text, exact: x.exact && y.exact, computed: true}
	}
	switch {
	case b.Op == token.ADD:
		return content{lo: plus(x.lo, y.lo), hi: plus(x.hi, y.hi), computed: true}
	case b.Op == token.SUB && y.lo == y.hi && y.lo > math.MinInt64:
		return content{lo: plus(x.lo, -y.lo), hi: plus(x.hi, -y.lo), computed: true}
	case b.Op == token.AND && y.lo >= 0 && y.lo == y.hi && x.lo != x.hi:
		return content{lo: 0, hi: y.hi, computed: true}
	case x.lo == x.hi && y.lo == y.hi:
		return folded(b.Op, x.lo, y.lo)
	}
	return unknownOf(b.Type())
}

// folded is an operation on two constants.
func folded(op token.Token, x, y int64) content {
	switch op {
	case token.AND, token.OR, token.XOR, token.AND_NOT, token.SUB, token.MUL:
		n, ok := constant.Int64Val(constant.BinaryOp(constant.MakeInt64(x), op, constant.MakeInt64(y)))
		if ok {
			return content{lo: n, hi: n, computed: true}
		}
	}
	return content{lo: math.MinInt64, hi: math.MaxInt64}
}

// only is what is left of a content where no more than some bits of a number are followed.
func (c content) only(bits int64, t types.Type) content {
	switch {
	case !isNumber(t) || bits == allBits && c.bits == 0:
		return c
	case bits == allBits, c.bits == 0 && c.lo != c.hi:
		return unknownOf(t)
	case c.bits != 0:
		bits &= c.bits
	}
	if bits == 0 {
		return unknownOf(t)
	}
	return content{lo: c.lo & bits, hi: c.lo & bits, bits: bits}
}

// whole is what a content says of a number as a whole.
func (c content) whole(t types.Type) content {
	if c.bits != 0 {
		return unknownOf(t)
	}
	return c
}

// bitwise is arithmetic where only some bits of a number are known.
func bitwise(b *ssa.BinOp, x, y content) content {
	if x.bits == 0 || y.bits != 0 || !worksOnBits(b) {
		return unknownOf(b.Type())
	}
	n, known, by := x.lo, x.bits, y.lo
	switch b.Op {
	case token.AND:
		n, known = n&by, known|^by
	case token.OR:
		n, known = n|by, known|by
	case token.XOR:
		n = (n ^ by) & known
	case token.AND_NOT:
		n, known = n&^by, known|by
	}
	if known == allBits {
		return just(n)
	}
	return content{lo: n, hi: n, bits: known}
}
