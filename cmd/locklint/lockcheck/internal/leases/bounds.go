package leases

import (
	"cmp"
	"go/types"
	"math"
)

// plus adds, where the smallest and the largest number stand for infinity.
func plus(x, y int64) int64 {
	switch sum := x + y; {
	case x == math.MinInt64 || y == math.MinInt64 || x < 0 && y < 0 && sum >= 0:
		return math.MinInt64
	case x == math.MaxInt64 || y == math.MaxInt64 || x > 0 && y > 0 && sum < 0:
		return math.MaxInt64
	default:
		return sum
	}
}

// relation says how two values of a type may stand to each other.
func relation(x, y content, t types.Type) relations {
	if isText(t) {
		switch {
		case x.exact && y.exact:
			return less << (cmp.Compare(x.text, y.text) + 1)
		case x.hi < y.lo || y.hi < x.lo: // texts of other lengths
			return less | greater
		}
		return anyRelation
	}
	var r relations
	if x.lo < y.hi {
		r |= less
	}
	if x.lo <= y.hi && y.lo <= x.hi {
		r |= equal
	}
	if x.hi > y.lo {
		r |= greater
	}
	return r
}

// within is what is left of a value that stands to another in one of some relations.
func (c content) within(r relations, other content, t types.Type) content {
	c.computed = c.computed || other.computed
	if isText(t) {
		switch {
		case r == equal && other.exact:
			return other
		case r&equal == 0 && other.exact && other.text == "":
			c.lo = max(c.lo, 1)
		}
		return c
	}
	switch {
	case r&greater == 0 && r&equal == 0:
		c.hi = min(c.hi, plus(other.hi, -1))
	case r&greater == 0:
		c.hi = min(c.hi, other.hi)
	case r&less == 0 && r&equal == 0:
		c.lo = max(c.lo, plus(other.lo, 1))
	case r&less == 0:
		c.lo = max(c.lo, other.lo)
	case r&equal == 0 && other.lo == other.hi && c.lo == other.lo:
		c.lo = plus(c.lo, 1)
	case r&equal == 0 && other.lo == other.hi && c.hi == other.lo:
		c.hi = plus(c.hi, -1)
	}
	if r == equal {
		c.lo = max(c.lo, other.lo)
	}
	return c
}
