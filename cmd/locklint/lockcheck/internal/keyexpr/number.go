package keyexpr

import (
	"math/big"
	"time"
)

// This file works out how long a time to live is, where that can be known. Times are key expressions like keys, so
// that they pass through wrappers in the same way; arithmetic is a call of an operator.

// The calls in an expression that stand for arithmetic.
const (
	Add = "+"
	Mul = "*"
	Quo = "/"
	Raw = "ns" // a Duration taken for a plain number: nanoseconds
)

// Number evaluates an expression that is made of constants.
func (k Expr) Number() (*big.Rat, bool) {
	if k.Op == Lit {
		return new(big.Rat).SetString(k.Text)
	}
	if k.Op != Call || len(k.Args) == 0 {
		return nil, false
	}
	x, ok := k.Args[0].Number()
	if !ok {
		return nil, false
	}
	switch k.Text {
	case Raw, "(time.Duration).Nanoseconds":
		return x, true
	case "(time.Duration).Microseconds":
		return x.Quo(x, big.NewRat(int64(time.Microsecond), 1)), true
	case "(time.Duration).Milliseconds":
		return x.Quo(x, big.NewRat(int64(time.Millisecond), 1)), true
	case "(time.Duration).Seconds":
		return x.Quo(x, big.NewRat(int64(time.Second), 1)), true
	case Mul, Quo:
		y, ok := k.Args[1].Number()
		if !ok {
			return nil, false
		}
		if k.Text == Mul {
			return x.Mul(x, y), true
		}
		if y.Sign() != 0 {
			return x.Quo(x, y), true
		}
	}
	return nil, false
}
