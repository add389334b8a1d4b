// Package check is what every check is made with: its entry in the catalogue, and the reporter by which it reads what
// was gathered about a package and says what it has found.
package check

import (
	"go/token"
	"reflect"
	"strings"

	"golang.org/x/tools/go/analysis"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/docs"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/index"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/program"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/suppress"
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
	Off      bool // runs only when asked for by its ID
	Analyzer *analysis.Analyzer

	page string
}

// A Spec is what a check is made of.
type Spec struct {
	// Page is the documentation as Markdown. Its heading is "# ID: title".
	Page     string
	Severity Severity
	Fixable  bool // some of its findings carry a safe fix
	Off      bool // runs only when asked for by its ID
	// Syntactic: it works on packages that do not compile, at the price of the index.
	Syntactic bool
	Run       func(*Reporter)
}

// New makes a check and its analyzer. The analyzer requires the ignore comments and, unless the check gets by with
// syntax, the index.
func New(s Spec) *Check {
	heading, _, _ := strings.Cut(strings.TrimPrefix(s.Page, "# "), "\n")
	id, title, _ := strings.Cut(heading, ": ")
	c := &Check{ID: id, Title: title, Severity: s.Severity, Fixable: s.Fixable, Off: s.Off, page: s.Page}
	c.Analyzer = &analysis.Analyzer{
		Name:             id,
		Doc:              title + "\n\n" + body(s.Page),
		URL:              c.URL(),
		Requires:         []*analysis.Analyzer{suppress.Analyzer},
		ResultType:       reflect.TypeFor[*Result](),
		RunDespiteErrors: s.Syntactic,
		Run: func(pass *analysis.Pass) (any, error) {
			ix, _ := pass.ResultOf[index.Analyzer].(*index.Index)
			ignores := pass.ResultOf[suppress.Analyzer].(*suppress.Comments)
			r := &Reporter{check: c, Pass: pass, Index: ix, Ignores: ignores, result: new(Result)}
			r.run(s.Run)
			return r.result, nil
		},
	}
	if !s.Syntactic {
		c.Analyzer.Requires = append(c.Analyzer.Requires, index.Analyzer)
	}
	return c
}

// A Result is what a check's analyzer returns: its findings with what a diagnostic has no place for.
type Result struct{ Findings []Finding }

// A Finding is a diagnostic of a check. One that a comment silences is not reported as a diagnostic.
type Finding struct {
	analysis.Diagnostic
	Severity Severity
	Function string            // the declaration that it stands in, such as Shop.place; "" outside of any
	Silenced *suppress.Silence // nil for a finding that counts
}

// A Reporter is one run of a check on one package.
type Reporter struct {
	check   *Check
	Pass    *analysis.Pass
	Index   *index.Index // nil for syntactic checks
	Ignores *suppress.Comments
	result  *Result
	told    map[token.Pos]bool // see ReportOnce
}

// run runs a check. Like that of the index, a panic costs the package its findings, not the user the whole run.
func (r *Reporter) run(check func(*Reporter)) {
	defer func() {
		if p := recover(); p != nil {
			program.OnPanic(p)
		}
	}()
	check(r)
}

// Report hands on a finding with the severity of its check.
func (r *Reporter) Report(d analysis.Diagnostic) { r.ReportAs(r.check.Severity, d) }

// ReportAs hands on a finding unless a comment silences it or the code is generated, where nobody could fix it.
func (r *Reporter) ReportAs(severity Severity, d analysis.Diagnostic) {
	if d.Pos.IsValid() && !r.Ignores.Generated[r.Pass.Fset.Position(d.Pos).Filename] {
		r.handOn(severity, d)
	}
}

// ReportOnce is Report for a call that issues a command in several ways: one finding for each place is enough.
func (r *Reporter) ReportOnce(d analysis.Diagnostic) {
	if r.told[d.Pos] {
		return
	}
	if r.told == nil {
		r.told = map[token.Pos]bool{}
	}
	r.told[d.Pos] = true
	r.Report(d)
}

// ReportAnywhere is report for a finding that generated code is itself to blame for.
func (r *Reporter) ReportAnywhere(d analysis.Diagnostic) { r.handOn(r.check.Severity, d) }

// handOn completes a finding and passes it on unless a comment silences it. In a file that uses cgo the positions are
// right but the offsets are those of cgo's rewriting, so there is no fix.
func (r *Reporter) handOn(severity Severity, d analysis.Diagnostic) {
	if r.Ignores.Cgo[r.Pass.Fset.Position(d.Pos).Filename] {
		d.SuggestedFixes = nil
	}
	d.Category = r.check.ID
	d.URL = r.check.URL()
	d.Message = r.check.ID + ": " + d.Message
	silence := r.Ignores.Silence(r.Pass.Fset, r.check.ID, d.Pos)
	r.result.Findings = append(r.result.Findings, Finding{Diagnostic: d, Severity: severity,
		Function: r.functionAt(d.Pos), Silenced: silence})
	if silence == nil {
		r.Pass.Report(d)
	}
}

// Explanation is the check's documentation as Markdown: why it matters, how it fails step by step, and how to fix it.
func (c *Check) Explanation() string { return c.page }

// URL is where Explanation can be read with a browser.
func (c *Check) URL() string { return docs.URL(c.ID) }

// Why is the first part of the explanation: one to three paragraphs, the shortest text that stands for the check where
// there is no room for more.
func (c *Check) Why() string {
	why, _, _ := strings.Cut(body(c.Explanation()), "\n## ")
	return strings.TrimSpace(why)
}

// body is the documentation without its heading.
func body(text string) string {
	_, rest, _ := strings.Cut(text, "\n")
	return strings.TrimSpace(rest)
}
