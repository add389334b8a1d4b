package rediscmd

import (
	"math/big"
	"time"

	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/keyexpr"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

// ttlOf describes a time that is given to a command in some unit. A Duration that is handed over as a plain number is
// marked, because it is a number of nanoseconds.
func ttlOf(v ssa.Value, unit time.Duration) keyexpr.Expr {
	k := keyexpr.Of(v)
	if mi, ok := v.(*ssa.MakeInterface); ok {
		v = mi.X
	}
	if unit > 1 && ssax.IsDuration(v.Type()) {
		return keyexpr.Expr{Op: keyexpr.Call, Text: keyexpr.Raw, Args: []keyexpr.Expr{k}}
	}
	return k
}

// Lasts is how long a command's time to live is, in nanoseconds; ok is false if nobody can tell.
func (c *Command) Lasts() (ns float64, ok bool) {
	n, ok := c.TTL.Number()
	if !ok || c.Unit == 0 {
		return 0, false
	}
	ns, _ = n.Mul(n, big.NewRat(int64(c.Unit), 1)).Float64()
	return ns, true
}
