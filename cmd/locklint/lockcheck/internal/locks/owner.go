package locks

import (
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/answers"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/keyexpr"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ops"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/rediscmd"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

// OwnerCompared returns the GET whose value decides, compared with something, whether a DEL or EXPIRE runs; nil if
// there is none.
func (ix *Set) OwnerCompared(c *rediscmd.Command) *rediscmd.Command {
	for _, read := range ix.Commands[c.Fn] {
		if read.Op == ops.Read && read.Key.String() == c.Key.String() && answers.ComparedBefore(read, c.Call) {
			return read
		}
	}
	return nil
}

// LooksAgain reports whether a function reads the key after it has tried to set it: who compares knows whose it is.
func (ix *Set) LooksAgain(c *rediscmd.Command) bool {
	return slices.ContainsFunc(ix.Commands[c.Fn], func(read *rediscmd.Command) bool {
		return read.Op == ops.Read && read.Key.String() == c.Key.String() && read.Call != c.Call &&
			ssax.ComesAfter(c.Call, read.Call) && !answers.AsksIfPresent(read)
	})
}

// AlwaysSame reports whether a value is one constant, be it that of all callers of its function: then a comparison with
// it tells nobody from anybody.
func (ix *Set) AlwaysSame(value keyexpr.Expr, fn *ssa.Function) bool {
	if value.Op == keyexpr.Lit {
		return true
	}
	i, err := strconv.Atoi(value.Text)
	if value.Op != keyexpr.Param || err != nil {
		return false
	}
	seen := map[string]bool{}
	for _, caller := range ix.Funcs {
		if caller.Parent() != nil {
			continue
		}
		ssax.EachCall(caller, func(call ssa.CallInstruction) {
			if obj, args := ix.CalleeOf(call.Common()); obj != nil && obj == fn.Object() && i < len(args) {
				if k := keyexpr.Of(args[i]); k.Op == keyexpr.Lit {
					seen[k.Text] = true
				} else {
					seen["\x00"+k.String()] = true
				}
			}
		})
	}
	for text := range seen {
		return len(seen) == 1 && !strings.HasPrefix(text, "\x00")
	}
	return false
}
