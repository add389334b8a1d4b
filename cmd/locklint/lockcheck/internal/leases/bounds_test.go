package leases

import (
	"go/token"
	"go/types"
	"math"
	"testing"
)

var (
	numbers = types.Typ[types.Int]
	texts   = types.Typ[types.String]
)

func TestRelation(t *testing.T) {
	atLeast5 := content{lo: 5, hi: math.MaxInt64}
	for _, c := range []struct {
		x, y content
		of   types.Type
		want relations
	}{
		{just(1), just(1), numbers, equal},
		{just(1), just(2), numbers, less},
		{atLeast5, just(5), numbers, equal | greater},
		{atLeast5, just(4), numbers, greater},
		{unknownOf(numbers), just(4), numbers, anyRelation},
		{letters("held"), letters("held"), texts, equal},
		{letters("held"), letters("lost"), texts, less},
		{content{lo: 1, hi: math.MaxInt64}, letters(""), texts, less | greater},
		{unknownOf(texts), letters(""), texts, anyRelation},
	} {
		if got := relation(c.x, c.y, c.of); got != c.want {
			t.Errorf("%v to %v: %03b, want %03b", c.x, c.y, got, c.want)
		}
	}
}

func TestContent_within(t *testing.T) {
	from1to9 := content{lo: 1, hi: 9}
	for _, c := range []struct {
		op   token.Token
		than int64
		want content
	}{
		{token.LSS, 5, content{lo: 1, hi: 4}},
		{token.LEQ, 5, content{lo: 1, hi: 5}},
		{token.GTR, 5, content{lo: 6, hi: 9}},
		{token.GEQ, 5, content{lo: 5, hi: 9}},
		{token.EQL, 5, just(5)},
		{token.NEQ, 5, from1to9},
		{token.NEQ, 1, content{lo: 2, hi: 9}},
		{token.NEQ, 9, content{lo: 1, hi: 8}},
		{token.LSS, math.MaxInt64, from1to9},
	} {
		if got := from1to9.within(holdsFor(c.op), just(c.than), numbers); got != c.want {
			t.Errorf("1 to 9 %s %d: %v, want %v", c.op, c.than, got, c.want)
		}
	}
	if got := unknownOf(texts).within(holdsFor(token.NEQ), letters(""), texts); got.lo != 1 {
		t.Errorf("a text that is not empty: %v", got)
	}
}

// TestWiden: a counter up to 5 is followed in a few rounds, and holds 5 at the end.
func TestWiden(t *testing.T) {
	marks := []int64{4, 5, 6}
	at, rounds := just(0), 0
	for ; rounds < 10; rounds++ {
		inside := at.within(less, just(5), numbers)
		next := widen(at, content{lo: plus(inside.lo, 1), hi: plus(inside.hi, 1)}, marks)
		if next == at {
			break
		}
		at = next
	}
	if want := (content{lo: 0, hi: 5}); at != want || rounds > 3 {
		t.Errorf("%v after %d rounds, want %v", at, rounds, want)
	}
	if got := widen(just(0), just(1), nil); got.lo != 0 || got.hi != math.MaxInt64 {
		t.Errorf("without a mark: %v, want no upper bound", got)
	}
}

func TestPlus_infinity(t *testing.T) {
	if plus(math.MaxInt64, -1) != math.MaxInt64 || plus(math.MinInt64, 1) != math.MinInt64 || plus(math.MaxInt64-1, 5) != math.MaxInt64 {
		t.Error("infinity does not stay what it is")
	}
}
