package driver

import (
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck"
	"golang.org/x/tools/go/analysis"
)

// options are the command line, understood.
type options struct {
	json, fix, tests bool
	checks           []*lockcheck.Check // selected
	explain          string
	patterns         []string

	// Under go vet.
	unit              string // the .cfg file
	version, describe bool   // -V=full and -flags: the go command asks who we are and what flags we take
	diff              bool
	context           int
}

// flags defines the command's flags on a new set. The names are also those that go vet passes on.
func (o *options) flags(enable, disable *string) *flag.FlagSet {
	fs := flag.NewFlagSet("locklint", flag.ContinueOnError)
	fs.SetOutput(io.Discard) // Main prints the error, and the usage only when asked
	fs.Usage = func() {}
	fs.BoolVar(&o.json, "json", false, "print findings as JSON")
	fs.BoolVar(&o.fix, "fix", false, "apply the safe fixes, and report what is left")
	fs.BoolVar(&o.tests, "test", true, "look at _test.go files, too")
	fs.StringVar(enable, "enable", "", "run only these checks: `IDs` separated by commas")
	fs.StringVar(disable, "disable", "", "run all but these checks: `IDs` separated by commas")
	fs.StringVar(&o.explain, "explain", "", "explain a check: why it matters, how it fails, how to fix it; takes an `ID`")
	fs.BoolVar(&o.describe, "flags", false, "describe the flags in JSON (for the go command)")
	fs.BoolVar(&o.diff, "diff", false, "with -fix: print the changes instead of making them (under go vet)")
	fs.IntVar(&o.context, "c", -1, "print `N` lines of context (under go vet)")
	fs.Func("V", "print the version (for the go command)", func(s string) error {
		if o.version = s == "full"; !o.version {
			return fmt.Errorf("only -V=full is supported")
		}
		return nil
	})
	return fs
}

// parse reads the command line. It returns flag.ErrHelp for -h.
func parse(args []string) (*options, error) {
	o := new(options)
	var enable, disable string
	fs := o.flags(&enable, &disable)
	if err := fs.Parse(args); err != nil {
		return nil, err
	}
	o.patterns = fs.Args()
	if len(o.patterns) == 1 && strings.HasSuffix(o.patterns[0], ".cfg") {
		o.unit = o.patterns[0]
	}
	if o.diff && o.unit == "" && !o.describe {
		return nil, fmt.Errorf("-diff works under go vet only: go vet -vettool=$(which locklint) -fix -diff")
	}
	var err error
	o.checks, err = selectChecks(enable, disable)
	return o, err
}

// selectChecks applies -enable and -disable to the catalogue.
func selectChecks(enable, disable string) ([]*lockcheck.Check, error) {
	on, err := lookupAll(enable)
	if err != nil {
		return nil, err
	}
	off, err := lookupAll(disable)
	if err != nil {
		return nil, err
	}
	var list []*lockcheck.Check
	for _, c := range lockcheck.Checks {
		if (enable == "" || slices.Contains(on, c)) && !slices.Contains(off, c) {
			list = append(list, c)
		}
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("-enable=%s -disable=%s leaves no check to run", enable, disable)
	}
	return list, nil
}

func lookupAll(ids string) ([]*lockcheck.Check, error) {
	var list []*lockcheck.Check
	for id := range strings.SplitSeq(ids, ",") {
		if id = strings.TrimSpace(id); id == "" {
			continue
		}
		c := lockcheck.Lookup(id)
		if c == nil {
			return nil, unknownCheck(id)
		}
		list = append(list, c)
	}
	return list, nil
}

func unknownCheck(id string) error {
	return fmt.Errorf("there is no check %q: the checks are %s", id, strings.Join(checkIDs(lockcheck.Checks), ", "))
}

func checkIDs(checks []*lockcheck.Check) []string {
	var ids []string
	for _, c := range checks {
		ids = append(ids, c.ID)
	}
	return ids
}

func analyzersOf(checks []*lockcheck.Check) []*analysis.Analyzer {
	var list []*analysis.Analyzer
	for _, c := range checks {
		list = append(list, c.Analyzer)
	}
	return list
}
