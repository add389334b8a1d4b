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
		return o.nothing(fmt.Sprintf("cannot load %s: %v", strings.Join(o.patterns, " "), err), stdout, stderr)
	}
	if len(pkgs) == 0 {
		if why := complaint(o.patterns, o.tags); why != "" {
			return o.nothing(fmt.Sprintf("cannot load %s: %s", strings.Join(o.patterns, " "), why), stdout, stderr)
		}
		return o.nothing(strings.Join(o.patterns, " ")+" matches no packages", stdout, stderr)
	}
	given := watchGivenUp()
	l := newLoader()
	nodes := l.analyze(pkgs, o.checks)
	again, err := l.linkedTogether()
	if err != nil {
		fmt.Fprintf(stderr, "locklint: %v\n", err)
		return exitFailed
	}
	if again != nil {
		l = again
		nodes = l.analyze(pkgs, o.checks)
	}
	if o.verbose {
		given.print(stderr, pkgs)
	}
	failures := l.errorTexts()
	for _, text := range failures {
		fmt.Fprintf(stderr, "locklint: %s\n", text)
	}
	failed := len(failures) > 0
	var findings []finding
	for _, n := range nodes {
		findings = append(findings, n.found...)
	}
	code, err := finish(o, tidy(findings), failures, stdout, stderr)
	if err != nil {
		fmt.Fprintf(stderr, "locklint: %v\n", err)
		failed = true
	}
	if failed {
		return exitFailed
	}
	return code
}

// nothing says why nothing was looked at, also in the form that a program reads.
func (o *options) nothing(why string, stdout, stderr io.Writer) int {
	fmt.Fprintf(stderr, "locklint: %s\n", why)
	if o.json || o.sarif {
		if err := o.print(stdout, nil, []string{why}); err != nil {
			fmt.Fprintf(stderr, "locklint: %v\n", err)
		}
	}
	return exitFailed
}

// errorTexts are what kept packages from being looked at. A file belongs to several packages when there are tests; each
// error is told once. What is wrong above a package that does not compile follows from that and is left out, unless
// there is nothing else to say.
func (l *loader) errorTexts() []string {
	var causes, effects []*node
	for _, n := range l.inOrder() {
		if slices.ContainsFunc(l.imports(n), (*node).broken) {
			effects = append(effects, n)
		} else {
			causes = append(causes, n)
		}
	}
	if texts := errorTextsOf(causes); len(texts) > 0 {
		return texts
	}
	return errorTextsOf(effects)
}

func errorTextsOf(nodes []*node) []string {
	var texts []string
	say := func(text string) {
		if text = relativeText(text); !slices.Contains(texts, text) {
			texts = append(texts, text)
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
	return texts
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
