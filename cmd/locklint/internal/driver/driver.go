// Package driver runs the checks of package lockcheck: by itself on package patterns, or one package at a time under
// go vet -vettool.
//
// Both ways hand package after package to package unit. By itself the driver asks the go command for the graph of
// packages and walks it; under go vet the go command walks, caches, and hands what a package tells to its importers.
// Types of dependencies come from what the compiler exports in either case. The findings are the same, but for those
// that take a view of the whole program, see link.go.
package driver

import (
	"errors"
	"flag"
	"fmt"
	"io"

	"github.com/lockgen/lockgen/cmd/internal/files"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck"
)

// The exit codes.
const (
	exitClean    = 0
	exitFindings = 1
	exitFailed   = 2 // could not run, or not on everything it was asked to look at
)

// Main runs the command and returns its exit code. Under go vet it ends the process itself.
func Main(args []string, stdout, stderr io.Writer) int {
	o, err := parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprint(stdout, usage())
		return exitClean
	case err != nil:
		fmt.Fprintf(stderr, "locklint: %v\nRun locklint -h for help.\n", err)
		return exitFailed
	case o.release:
		fmt.Fprintln(stdout, "locklint", files.Version())
		return exitClean
	case o.version:
		return vetVersion(stdout, stderr)
	case o.describe:
		return describeFlags(stdout, stderr)
	case o.explain != "":
		return explain(o.explain, stdout, stderr)
	case o.unit != "":
		watchPanics(stderr)
		return vetUnit(o, stdout, stderr)
	case len(o.patterns) == 0:
		fmt.Fprint(stderr, usage())
		return exitFailed
	}
	seen := watchPanics(stderr)
	return seen.exitCode(standalone(o, stdout, stderr))
}

// explain prints what there is to say about a check.
func explain(id string, stdout, stderr io.Writer) int {
	c := lockcheck.Lookup(id)
	if c == nil {
		fmt.Fprintf(stderr, "locklint: %v\n", unknownCheck(id))
		return exitFailed
	}
	fmt.Fprintf(stdout, "%s\n%s\n", c.Explanation(), c.URL())
	return exitClean
}
