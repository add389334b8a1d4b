package driver

import (
	"fmt"
	"strings"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck"
)

const usageText = `Locklint finds misuse of //lock: directives and leases, and hand-rolled Redis locks that fail.

Usage:

	locklint [flags] packages        such as locklint ./...
	go vet -vettool="$(go tool -n locklint)" packages     where it is a tool of the module; in PATH: $(which locklint)
	locklint -explain ID

Under go vet the tool takes the place of the standard checks: run go vet by itself, too.

Flags:

	-enable IDs           run only these checks, separated by commas; all: also those that are off by default
	-disable IDs          run all but these checks
	-explain ID           why a check matters, how the code fails step by step, how to fix it
	-test=false           leave out _test.go files
	-tags LIST            build tags, separated by commas

	-fix                  apply the safe fixes, and report what is left
	-diff                 print what -fix would change, and change nothing
	-json                 print findings as JSON
	-sarif                print findings as SARIF 2.1.0, for code hosts
	-c N                  print the code, with N lines around it

	-fail-on SEVERITY     exit with 1 only for findings of this severity or above: error, warning, info (the default)
	-new-from-rev REV     report only findings that touch lines which are new since this git revision
	-baseline FILE        leave out the findings that FILE knows, whatever line they have moved to
	-write-baseline       write the findings of today to the FILE of -baseline, and report nothing
	-v                    say on standard error which locks are not followed to the end, because too many ways lead
	                      through their functions: nothing is found about those
	-version              print the version
	-h                    print this text

Of these, go vet takes -enable, -disable, -fix, -diff, -json, -c and -tags.

Exit status: 0 no findings, 1 findings, 2 the tool could not run or not look at everything.

A finding is silenced by a comment on its line or above it, or above the function; the reason is mandatory, and a comment
that silences nothing is a finding (LL1015). //nolint:locklint works, too.

	//locklint:ignore LL2002 the key is unique for each run

Checks (* some findings have a safe fix, - off by default):

`

// usage is the help text, with the catalogue as it is.
func usage() string {
	var b strings.Builder
	b.WriteString(usageText)
	for _, c := range lockcheck.Checks {
		mark := " "
		switch {
		case c.Off:
			mark = "-"
		case c.Fixable:
			mark = "*"
		}
		fmt.Fprintf(&b, "\t%s%s %-7s  %s\n", c.ID, mark, c.Severity, c.Title)
	}
	return b.String()
}
