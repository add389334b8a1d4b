// Package ll1014 is the check LL1014; see doc.md.
package ll1014

import (
	_ "embed"
	"fmt"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/check"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

//go:embed doc.md
var page string

// Check is LL1014.
var Check = check.New(check.Spec{Page: page, Severity: check.Info, Run: checkExits})

// checkExits reports calls that end the process while a lease is held: deferred releases do not run, and the lock stays
// until its TTL. Tests are left alone.
func checkExits(r *check.Reporter) {
	done := map[ssa.Instruction]bool{}
	for _, s := range r.Criticals() {
		for _, call := range s.Calls() {
			if done[call] || !isExit(call.Common()) || r.Index.InTest(call.Common().Pos()) {
				continue
			}
			done[call] = true
			pos, end := r.CallSpan(call)
			r.Report(analysis.Diagnostic{
				Pos: pos, End: end,
				Message: fmt.Sprintf("%s ends the process with the lock from %s at %s held: deferred releases do not run, and "+
					"everybody waits for its TTL; release it first, or return an error",
					r.CallText(call), s.Name, r.Place(s.Pos, pos)),
				Related: []analysis.RelatedInformation{{Pos: s.Pos, Message: "acquired here"}},
			})
		}
	}
}

// exitCalls end the process without running what is deferred.
var exitCalls = map[string]bool{
	"os.Exit": true, "syscall.Exit": true,
	"log.Fatal": true, "log.Fatalf": true, "log.Fatalln": true,
	"(*log.Logger).Fatal": true, "(*log.Logger).Fatalf": true, "(*log.Logger).Fatalln": true,
	"github.com/sirupsen/logrus.Fatal": true, "github.com/sirupsen/logrus.Fatalf": true,
	"github.com/sirupsen/logrus.Fatalln": true,
	"(*go.uber.org/zap.Logger).Fatal":    true, "(*go.uber.org/zap.SugaredLogger).Fatal": true,
	"(*go.uber.org/zap.SugaredLogger).Fatalf": true, "(*go.uber.org/zap.SugaredLogger).Fatalw": true,
}

// isExit reports whether a call ends the process.
func isExit(c *ssa.CallCommon) bool {
	fn := c.StaticCallee()
	return fn != nil && fn.Object() != nil && exitCalls[ssax.CalleeName(fn)]
}
