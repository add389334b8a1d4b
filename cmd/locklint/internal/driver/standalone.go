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
	given := watchGivenUp()
	first, err := look(o)
	if err != nil {
		return o.nothing(err.Error(), stdout, stderr)
	}
	if o.verbose {
		given.print(stderr, first.pkgs)
	}
	first.tell(stderr, nil)
	code, err := finish(o, first, stdout, stderr)
	if err != nil {
		fmt.Fprintf(stderr, "locklint: %v\n", err)
	}
	if err != nil || len(first.failures) > 0 {
		return exitFailed
	}
	return code
}

// A view is what the checks find in the packages as they are at a time, and what kept packages from being looked at.
type view struct {
	pkgs     []*packages.Package
	findings []finding
	failures []string
}

// look loads the packages and runs the checks. It fails if there is nothing to look at.
func look(o *options) (*view, error) {
	pkgs, err := load(o.patterns, o.tests, o.tags)
	if err != nil {
		return nil, fmt.Errorf("cannot load %s: %w", strings.Join(o.patterns, " "), err)
	}
	if len(pkgs) == 0 {
		if why := complaint(o.patterns, o.tags); why != "" {
			return nil, fmt.Errorf("cannot load %s: %s", strings.Join(o.patterns, " "), why)
		}
		return nil, fmt.Errorf("%s matches no packages", strings.Join(o.patterns, " "))
	}
	l := newLoader()
	nodes := l.analyze(pkgs, o.checks)
	again, err := l.linkedTogether()
	if err != nil {
		return nil, err
	}
	if again != nil {
		l = again
		nodes = l.analyze(pkgs, o.checks)
	}
	v := &view{pkgs: pkgs, failures: l.errorTexts()}
	for _, n := range nodes {
		v.findings = append(v.findings, n.found...)
	}
	v.findings = tidy(v.findings)
	return v, nil
}

// tell prints the failures that have not been told yet.
func (v *view) tell(stderr io.Writer, told []string) {
	for _, text := range v.failures {
		if !slices.Contains(told, text) {
			fmt.Fprintf(stderr, "locklint: %s\n", text)
		}
	}
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
