package locks

import (
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/answers"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ops"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/rediscmd"
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
