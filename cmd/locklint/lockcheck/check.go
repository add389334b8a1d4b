package lockcheck

import (
	"embed"
	"fmt"
	"go/token"
	"strings"

	"golang.org/x/tools/go/analysis"
)

// A Severity says how sure a finding breaks mutual exclusion.
type Severity string

// The severities, in falling order.
const (
	Error   Severity = "error"
	Warning Severity = "warning"
	Info    Severity = "info"
)

// A Check is one entry of the catalogue.
type Check struct {
	ID       string // such as LL2005
	Title    string // what it finds, a few words
	Severity Severity
	Fixable  bool // some of its findings carry a safe fix
	Analyzer *analysis.Analyzer
}

// Checks is the catalogue in the order of the IDs.
var Checks = []*Check{ll1001, ll1003, ll1005, ll2001, ll2002, ll2005}

// Analyzers are the analyzers of all checks, for drivers of their own. They suppress what //locklint:ignore and
// //nolint:locklint comments silence.
var Analyzers = analyzers()

func analyzers() []*analysis.Analyzer {
	var list []*analysis.Analyzer
	for _, c := range Checks {
		list = append(list, c.Analyzer)
	}
	return list
}

// Lookup returns the check with an ID, nil if there is none. Case does not matter.
func Lookup(id string) *Check {
	for _, c := range Checks {
		if strings.EqualFold(c.ID, id) {
			return c
		}
	}
	return nil
}

// docsURL is where the documentation of the checks is read by people.
const docsURL = "https://github.com/lockgen/lockgen/blob/main/cmd/locklint/lockcheck/docs/"

//go:embed docs/*.md
var docs embed.FS

// Explanation is the check's documentation: why it matters, how it fails step by step, and how to fix it.
func (c *Check) Explanation() string {
	text, err := docs.ReadFile("docs/" + c.ID + ".md")
	if err != nil {
		panic(fmt.Sprintf("lockcheck: check %s has no documentation: %v", c.ID, err))
	}
	return string(text)
}

// URL is where Explanation can be read with a browser.
func (c *Check) URL() string { return docsURL + c.ID + ".md" }

// newCheck makes a check and its analyzer. The analyzer requires the ignore comments and, unless the check gets by
// with syntax, the index.
func newCheck(id, title string, severity Severity, fixable bool, run func(*reporter)) *Check {
	c := &Check{ID: id, Title: title, Severity: severity, Fixable: fixable}
	c.Analyzer = &analysis.Analyzer{
		Name:     id,
		Doc:      title + "\n\n" + body(c.Explanation()),
		URL:      c.URL(),
		Requires: []*analysis.Analyzer{ignoresAnalyzer, indexAnalyzer},
		Run: func(pass *analysis.Pass) (any, error) {
			ix, _ := pass.ResultOf[indexAnalyzer].(*index)
			run(&reporter{check: c, pass: pass, index: ix, ignores: pass.ResultOf[ignoresAnalyzer].(*ignores)})
			return nil, nil
		},
	}
	return c
}

// syntactic makes a check work on packages that do not compile, at the price of the index.
func (c *Check) syntactic() *Check {
	c.Analyzer.Requires = []*analysis.Analyzer{ignoresAnalyzer}
	c.Analyzer.RunDespiteErrors = true
	return c
}

// body is the documentation without its heading.
func body(text string) string {
	_, rest, _ := strings.Cut(text, "\n")
	return strings.TrimSpace(rest)
}

// A reporter is one run of a check on one package.
type reporter struct {
	check   *Check
	pass    *analysis.Pass
	index   *index // nil for syntactic checks
	ignores *ignores
}

// report hands on a finding unless a comment silences it or the code is generated, where nobody could fix it. In a file
// that uses cgo the positions are right but the offsets are those of cgo's rewriting, so there is no fix.
func (r *reporter) report(d analysis.Diagnostic) {
	if !d.Pos.IsValid() || r.ignores.silenced(r.pass.Fset, r.check.ID, d.Pos) {
		return
	}
	name := r.pass.Fset.Position(d.Pos).Filename
	if r.ignores.generated[name] {
		return
	}
	if r.ignores.cgo[name] {
		d.SuggestedFixes = nil
	}
	d.Category = r.check.ID
	d.URL = r.check.URL()
	d.Message = r.check.ID + ": " + d.Message
	r.pass.Report(d)
}

// span is the source range of a command's call.
func (r *reporter) span(c *command) (pos, end token.Pos) {
	if call := r.index.callExpr(c.call); call != nil {
		return call.Pos(), call.End()
	}
	return c.pos(), c.pos()
}

// place names a position from the point of view of another: the line, with the file where that differs.
func (r *reporter) place(pos, from token.Pos) string {
	at, origin := r.pass.Fset.Position(pos), r.pass.Fset.Position(from)
	if at.Filename == origin.Filename {
		return fmt.Sprintf("line %d", at.Line)
	}
	return fmt.Sprintf("%s:%d", at.Filename[strings.LastIndexAny(at.Filename, `/\`)+1:], at.Line)
}
