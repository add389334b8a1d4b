package leases

import (
	"fmt"
	"strings"
	"testing"

	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

// TestReadBy_once: flags that a loop sets are made of each other in more ways than can be counted. Each field that they
// are made of is found once.
func TestReadBy_once(t *testing.T) {
	const flags = 8
	var declare, set, ask strings.Builder
	for i := range flags {
		fmt.Fprintf(&declare, "\tf%d := false\n", i)
		fmt.Fprintf(&set, "\t\tcase \"%d\":\n\t\t\tf%[1]d = o.on\n", i)
		fmt.Fprintf(&ask, "\tif f%d {\n\t\tprintln(%[1]d)\n\t}\n", i)
	}
	li := lookAt(t, "package long\n\nimport (\n\t\"context\"\n\t\"time\"\n\n\t\"github.com/bsm/redislock\"\n)\n\n"+
		"type options struct{ on bool }\n\n"+
		"func long(ctx context.Context, c *redislock.Client, o *options, in []string) error {\n"+declare.String()+
		"\tl, err := c.Obtain(ctx, \"k\", time.Minute, nil)\n\tif err != nil {\n\t\treturn err\n\t}\n"+
		"\tfor _, v := range in {\n\t\tswitch v {\n"+set.String()+"\t\t}\n\t}\n"+ask.String()+
		"\treturn l.Release(ctx)\n}\n")
	asked := 0
	ssax.EachInstr(li.Flows[0].Fn, func(instr ssa.Instruction) {
		branch, ok := instr.(*ssa.If)
		if !ok {
			return
		}
		if _, ok := branch.Cond.(*ssa.Phi); !ok {
			return
		}
		asked++
		found := map[string]int{}
		readBy(branch.Cond, func(r route) { found[r.key()]++ })
		for key, n := range found {
			if n > flags {
				t.Errorf("%s is found %d times, want at most once for each of the %d places that read it", key, n, flags)
			}
		}
	})
	if asked != flags {
		t.Errorf("%d flags are asked, want %d", asked, flags)
	}
}
