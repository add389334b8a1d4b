package locks

import (
	"go/token"

	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/rediscmd"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

// isMark reports whether an acquire and the release of another function make up a mark that something has been done,
// whatever they are called: the key lasts for hours, and nobody runs the release but where something has failed. All
// who run it must be in sight.
func (ix *Set) isMark(a, r *rediscmd.Command) bool {
	lasts, ok := a.Lasts()
	if !ok || lasts < float64(ssax.LongMark) || token.IsExported(r.Fn.Name()) || r.Fn.Parent() != nil {
		return false
	}
	calls := 0
	for _, fn := range ix.Funcs {
		for _, b := range fn.Blocks {
			for _, instr := range b.Instrs {
				for _, op := range instr.Operands(nil) {
					if *op != ssa.Value(r.Fn) {
						continue
					}
					call, ok := instr.(ssa.CallInstruction)
					if !ok || call.Common().Value != *op || !ix.InTest(call.Pos()) && !ssax.GivesBack(call) {
						return false
					}
					calls++
				}
			}
		}
	}
	return calls > 0
}
