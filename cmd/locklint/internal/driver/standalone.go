package driver

import (
	"fmt"
	"io"
	"strings"

	"golang.org/x/tools/go/analysis/checker"
	"golang.org/x/tools/go/packages"
)

// standalone loads the packages, runs the checks and prints what they find.
func standalone(o *options, stdout, stderr io.Writer) int {
	pkgs, err := packages.Load(&packages.Config{Mode: packages.LoadAllSyntax | packages.NeedModule, Tests: o.tests}, o.patterns...)
	if err != nil {
		fmt.Fprintf(stderr, "locklint: cannot load %s: %v\n", strings.Join(o.patterns, " "), err)
		return exitFailed
	}
	if len(pkgs) == 0 {
		fmt.Fprintf(stderr, "locklint: %s matches no packages\n", strings.Join(o.patterns, " "))
		return exitFailed
	}
	failed := printPackageErrors(pkgs, stderr)
	graph, err := checker.Analyze(analyzersOf(o.checks), pkgs, nil)
	if err != nil {
		fmt.Fprintf(stderr, "locklint: cannot run the checks: %v\n", err)
		return exitFailed
	}
	failed = printActionErrors(graph, stderr) || failed
	findings := findingsOf(graph)
	if o.fix {
		if findings, err = applyFixes(findings, stderr); err != nil {
			fmt.Fprintf(stderr, "locklint: %v\n", err)
			failed = true
		}
	}
	if err := printFindings(stdout, findings, o.json); err != nil {
		fmt.Fprintf(stderr, "locklint: cannot print the findings: %v\n", err)
		failed = true
	}
	switch {
	case failed:
		return exitFailed
	case len(findings) > 0:
		return exitFindings
	}
	return exitClean
}

// printPackageErrors prints why packages do not compile, and reports whether there are any that don't. A file
// belongs to several packages when there are tests; each error is printed once.
func printPackageErrors(pkgs []*packages.Package, stderr io.Writer) bool {
	seen := map[string]bool{}
	packages.Visit(pkgs, nil, func(p *packages.Package) {
		for _, e := range p.Errors {
			if text := e.Error(); !seen[text] {
				seen[text] = true
				fmt.Fprintf(stderr, "locklint: %s\n", relativeText(text))
			}
		}
	})
	return len(seen) > 0
}

// printActionErrors prints which checks failed for a reason other than code that does not compile, which has been
// said already.
func printActionErrors(graph *checker.Graph, stderr io.Writer) bool {
	failed := false
	for _, act := range graph.Roots {
		if act.Err == nil || broken(act.Package) {
			continue
		}
		fmt.Fprintf(stderr, "locklint: %s on %s: %v\n", act.Analyzer.Name, act.Package.PkgPath, act.Err)
		failed = true
	}
	return failed
}

// broken reports whether a package or one of its dependencies does not compile.
func broken(p *packages.Package) bool { return p.IllTyped || len(p.Errors) > 0 }
