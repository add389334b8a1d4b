package driver

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

// standalone loads the packages, runs the checks and prints what they find.
func standalone(o *options, stdout, stderr io.Writer) int {
	pkgs, err := load(o.patterns, o.tests, o.tags)
	if err != nil {
		fmt.Fprintf(stderr, "locklint: cannot load %s: %v\n", strings.Join(o.patterns, " "), err)
		return exitFailed
	}
	if len(pkgs) == 0 {
		fmt.Fprintf(stderr, "locklint: %s matches no packages\n", strings.Join(o.patterns, " "))
		return exitFailed
	}
	l := newLoader()
	nodes := l.analyze(pkgs, o.checks)
	failed := l.printErrors(stderr)
	var findings []finding
	for _, n := range nodes {
		if n.res != nil {
			findings = append(findings, findingsOf(n.world.fset, n.res.Checks)...)
		}
	}
	code, err := finish(o, tidy(findings), stdout, stderr)
	if err != nil {
		fmt.Fprintf(stderr, "locklint: %v\n", err)
		failed = true
	}
	if failed {
		return exitFailed
	}
	return code
}

// printErrors prints what kept packages from being looked at, and reports whether there was anything. A file belongs
// to several packages when there are tests; each error is printed once. What is wrong above a package that does not
// compile follows from that and is left out, unless there is nothing else to say.
func (l *loader) printErrors(stderr io.Writer) bool {
	var causes, effects []*node
	for _, n := range l.inOrder() {
		if slices.ContainsFunc(l.imports(n), (*node).broken) {
			effects = append(effects, n)
		} else {
			causes = append(causes, n)
		}
	}
	return printErrorsOf(causes, stderr) || printErrorsOf(effects, stderr)
}

func printErrorsOf(nodes []*node, stderr io.Writer) bool {
	seen := map[string]bool{}
	say := func(text string) {
		if !seen[text] {
			seen[text] = true
			fmt.Fprintf(stderr, "locklint: %s\n", relativeText(text))
		}
	}
	for _, n := range nodes {
		switch {
		case n.err != nil:
			say(n.err.Error())
		case n.res == nil:
		case len(n.res.Errors) > 0:
			for _, err := range n.res.Errors {
				say(err.Error())
			}
		default: // the go command's own words, where the source is fine or not there at all
			for _, e := range n.pkg.Errors {
				say(errorText(n.pkg, e))
			}
		}
		if n.res != nil {
			for _, err := range n.res.Failed {
				say(err.Error())
			}
		}
	}
	return len(seen) > 0
}

// errorText is an error of the go command with a place to look at.
func errorText(p *packages.Package, e packages.Error) string {
	if strings.Contains(e.Msg, "does not contain main module") {
		return fmt.Sprintf("%s: %s: locklint looks at packages of a module; run it below a go.mod", p.PkgPath, e.Msg)
	}
	if e.Pos == "" || e.Pos == "-" {
		return fmt.Sprintf("%s: %s", p.PkgPath, e.Msg)
	}
	return e.Error()
}
