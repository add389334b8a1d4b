package driver

import (
	"fmt"
	"strings"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck"
)

const usageText = `Locklint finds misuse of //lock: directives and leases, and hand-rolled Redis locks that fail.

Usage:

	locklint [flags] packages        such as locklint ./...
	go vet -vettool=$(which locklint) packages
	locklint -explain ID

Under go vet the tool takes the place of the standard checks: run go vet by itself, too.

Flags:

	-enable IDs     run only these checks, separated by commas
	-disable IDs    run all but these checks
	-fix            apply the safe fixes, and report what is left
	-json           print findings as JSON
	-test=false     leave out _test.go files
	-explain ID     why a check matters, how the code fails step by step, how to fix it
	-h              print this text

Exit status: 0 no findings, 1 findings, 2 the tool could not run or not look at everything.

A finding is silenced by a comment on its line or above it, or above the function; the reason is mandatory:

	//locklint:ignore LL2002 the key is unique for each run

Checks (* some findings have a safe fix):

`

// usage is the help text, with the catalogue as it is.
func usage() string {
	var b strings.Builder
	b.WriteString(usageText)
	for _, c := range lockcheck.Checks {
		star := " "
		if c.Fixable {
			star = "*"
		}
		fmt.Fprintf(&b, "\t%s%s %-7s  %s\n", c.ID, star, c.Severity, c.Title)
	}
	return b.String()
}
