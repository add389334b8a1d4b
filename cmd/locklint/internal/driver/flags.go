package driver

import (
	"flag"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/lockgen/lockgen/cmd/internal/directive"
	"github.com/lockgen/lockgen/cmd/internal/files"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck"
)

// options are the command line, understood.
type options struct {
	checks   []*lockcheck.Check // selected
	explain  string
	patterns []string

	json, sarif, fix, diff, tests, verbose bool

	failOn        lockcheck.Severity
	baseline      string // file name
	writeBaseline bool
	newFrom       string // git revision
	context       int    // lines, -1 for not even the finding's
	tags          string // build tags
	release       bool   // print the version, for people

	// Under go vet.
	unit              string // the .cfg file
	version, describe bool   // -V=full and -flags: the go command asks who we are and what flags we take
}

// vetFlags are the flags that make sense when the go command runs the tool on one package after the other. It has
// -fix and -json itself, and passes them on.
var vetFlags = []string{"enable", "disable", "json", "diff", "c"}

// flags defines the command's flags on a new set. The names are also those that go vet passes on.
func (o *options) flags(enable, disable *string) *flag.FlagSet {
	fs := flag.NewFlagSet("locklint", flag.ContinueOnError)
	fs.SetOutput(io.Discard) // Main prints the error, and the usage only when asked
	fs.Usage = func() {}
	fs.StringVar(enable, "enable", "", "run only these checks: `IDs` separated by commas, or all")
	fs.StringVar(disable, "disable", "", "run all but these checks: `IDs` separated by commas")
	fs.StringVar(&o.explain, "explain", "",
		"explain a check: why it matters, how it fails, how to fix it; takes an `ID`")
	fs.BoolVar(&o.fix, "fix", false, "apply the safe fixes, and report what is left")
	fs.BoolVar(&o.diff, "diff", false, "print what -fix would change as a unified diff, and change nothing")
	fs.BoolVar(&o.json, "json", false, "print findings as JSON")
	fs.BoolVar(&o.sarif, "sarif", false, "print findings as SARIF 2.1.0")
	fs.Func("fail-on",
		"exit with 1 only for findings of this `severity` or above: error, warning or info (the default)", o.setFailOn)
	fs.StringVar(&o.baseline, "baseline", "", "leave out the findings that this `file` knows")
	fs.BoolVar(&o.writeBaseline, "write-baseline", false, "write the findings to the file of -baseline")
	fs.StringVar(&o.newFrom, "new-from-rev", "", "report only findings on lines that are new since this git `revision`")
	fs.BoolVar(&o.tests, "test", true, "look at _test.go files, too")
	fs.BoolVar(&o.verbose, "v", false, "say which locks cost too much to follow to the end")
	fs.StringVar(&o.tags, "tags", "", "build `tags` separated by commas, as for go build")
	fs.BoolVar(&o.release, "version", false, "print the version")
	fs.Func("c", "print the code, with `N` lines around it", o.setContext)
	fs.BoolVar(&o.describe, "flags", false, "describe the flags in JSON (for the go command)")
	fs.Func("V", "print the version (for the go command)", func(s string) error {
		if o.version = s == "full"; !o.version {
			return fmt.Errorf("only -V=full is supported")
		}
		return nil
	})
	return fs
}

func (o *options) setFailOn(s string) error {
	o.failOn = lockcheck.Severity(s)
	if rank(o.failOn) == 0 {
		return fmt.Errorf("a severity is error, warning or info")
	}
	return nil
}

func (o *options) setContext(s string) error {
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 {
		return fmt.Errorf("a number of lines is 0 or more")
	}
	o.context = n
	return nil
}

// parse reads the command line. It returns flag.ErrHelp for -h.
func parse(args []string) (*options, error) {
	o := &options{failOn: lockcheck.Info, context: -1}
	var enable, disable string
	fs := o.flags(&enable, &disable)
	if err := fs.Parse(args); err != nil {
		return nil, suggestFlag(fs, err)
	}
	o.patterns = fs.Args()
	if i := slices.IndexFunc(o.patterns, func(p string) bool { return strings.HasPrefix(p, "-") }); i >= 0 {
		return nil, fmt.Errorf("%s stands behind the packages: flags go first", o.patterns[i])
	}
	if len(o.patterns) == 1 && strings.HasSuffix(o.patterns[0], ".cfg") {
		o.unit = o.patterns[0]
	}
	if err := files.CheckTags(o.tags); err != nil {
		return nil, err
	}
	if err := o.conflict(); err != nil {
		return nil, err
	}
	var err error
	o.checks, err = selectChecks(enable, disable)
	return o, err
}

// conflict finds flags that cannot be meant together.
func (o *options) conflict() error {
	switch {
	case o.json && o.sarif:
		return fmt.Errorf("-json and -sarif: choose one form of output")
	case o.diff && o.unit == "" && (o.json || o.sarif):
		return fmt.Errorf("-diff prints a diff: leave out -json and -sarif")
	case o.writeBaseline && o.baseline == "":
		return fmt.Errorf("-write-baseline needs to know where to: add -baseline FILE")
	case o.writeBaseline && (o.fix || o.diff || o.json || o.sarif || o.newFrom != ""):
		return fmt.Errorf("-write-baseline writes all findings to the file and does nothing else: " +
			"leave out the other flags")
	}
	return nil
}

// selectChecks applies -enable and -disable to the catalogue. A check that is off by default runs if -enable names it,
// or all.
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
		if (enable == "" && !c.Off || slices.Contains(on, c)) && !slices.Contains(off, c) {
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
		if strings.EqualFold(id, "all") {
			return lockcheck.Checks, nil
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
	ids := checkIDs(lockcheck.Checks)
	if guess := directive.Nearest(id, ids); guess != "" {
		return fmt.Errorf("there is no check %q; did you mean %s? locklint -h lists them all", id, guess)
	}
	return fmt.Errorf("there is no check %q: the checks are %s", id, strings.Join(ids, ", "))
}

const unknownFlag = "flag provided but not defined: -"

// suggestFlag adds to the error about an unknown flag the one that was probably meant.
func suggestFlag(fs *flag.FlagSet, err error) error {
	name, ok := strings.CutPrefix(err.Error(), unknownFlag)
	if !ok {
		return err
	}
	var names []string
	fs.VisitAll(func(f *flag.Flag) { names = append(names, f.Name) })
	if guess := directive.Nearest(name, names); guess != "" {
		return fmt.Errorf("%w; did you mean -%s?", err, guess)
	}
	return err
}

func checkIDs(checks []*lockcheck.Check) []string {
	var ids []string
	for _, c := range checks {
		ids = append(ids, c.ID)
	}
	return ids
}
