package lockcheck

import (
	"fmt"
	"go/ast"
	"go/token"
	"reflect"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"

	"github.com/lockgen/lockgen/cmd/internal/directive"
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
}

// Checks is the catalogue in the order of the IDs.
var Checks = catalogue()

// judging are the checks that look at locks; ll1015 looks at what the comments that silence them are good for.
var judging = slices.Concat([]*Check{ll1001, ll1003, ll1004, ll1005}, redisChecks, pathChecks)

func catalogue() []*Check {
	list := append(slices.Clone(judging), ll1015)
	slices.SortFunc(list, func(a, b *Check) int { return strings.Compare(a.ID, b.ID) })
	return list
}

// Analyzers are the analyzers of the checks that are on by default, for drivers of their own. They suppress what
// //locklint:ignore and //nolint:locklint comments silence.
var Analyzers = analyzers()

func analyzers() []*analysis.Analyzer {
	var list []*analysis.Analyzer
	for _, c := range Checks {
		if !c.Off {
			list = append(list, c.Analyzer)
		}
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

// newCheck makes a check and its analyzer. The analyzer requires the ignore comments and, unless the check gets by
// with syntax, the index.
func newCheck(id, title string, severity Severity, fixable bool, run func(*reporter)) *Check {
	c := &Check{ID: id, Title: title, Severity: severity, Fixable: fixable}
	c.Analyzer = &analysis.Analyzer{
		Name:       id,
		Doc:        title + "\n\n" + body(c.Explanation()),
		URL:        c.URL(),
		Requires:   []*analysis.Analyzer{ignoresAnalyzer, indexAnalyzer},
		ResultType: reflect.TypeFor[*Result](),
		Run: func(pass *analysis.Pass) (any, error) {
			ix, _ := pass.ResultOf[indexAnalyzer].(*index)
			ignores := pass.ResultOf[ignoresAnalyzer].(*ignores)
			r := &reporter{check: c, pass: pass, index: ix, ignores: ignores, result: new(Result)}
			r.run(run)
			return r.result, nil
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

// off makes a check run only when it is asked for.
func (c *Check) off() *Check {
	c.Off = true
	return c
}

// A Result is what a check's analyzer returns: its findings with what a diagnostic has no place for.
type Result struct{ Findings []Finding }

// A Finding is a diagnostic of a check. One that a comment silences is not reported as a diagnostic.
type Finding struct {
	analysis.Diagnostic
	Severity Severity
	Function string   // the declaration that it stands in, such as Shop.place; "" outside of any
	Silenced *Silence // nil for a finding that counts
}

// A Silence says which comment silences a finding and why.
type Silence struct {
	Pos    token.Pos // of the comment
	Reason string    // "" for //nolint:locklint, which need not have one
}

// A reporter is one run of a check on one package.
type reporter struct {
	check   *Check
	pass    *analysis.Pass
	index   *index // nil for syntactic checks
	ignores *ignores
	result  *Result
}

// run runs a check. Like that of the index, a panic costs the package its findings, not the user the whole run.
func (r *reporter) run(check func(*reporter)) {
	defer func() {
		if p := recover(); p != nil {
			OnPanic(p)
		}
	}()
	check(r)
}

// report hands on a finding with the severity of its check.
func (r *reporter) report(d analysis.Diagnostic) { r.reportAs(r.check.Severity, d) }

// reportAs hands on a finding unless a comment silences it or the code is generated, where nobody could fix it.
func (r *reporter) reportAs(severity Severity, d analysis.Diagnostic) {
	if d.Pos.IsValid() && !r.ignores.generated[r.pass.Fset.Position(d.Pos).Filename] {
		r.handOn(severity, d)
	}
}

// reportAnywhere is report for a finding that generated code is itself to blame for.
func (r *reporter) reportAnywhere(d analysis.Diagnostic) { r.handOn(r.check.Severity, d) }

// handOn completes a finding and passes it on unless a comment silences it. In a file that uses cgo the positions are
// right but the offsets are those of cgo's rewriting, so there is no fix.
func (r *reporter) handOn(severity Severity, d analysis.Diagnostic) {
	if r.ignores.cgo[r.pass.Fset.Position(d.Pos).Filename] {
		d.SuggestedFixes = nil
	}
	d.Category = r.check.ID
	d.URL = r.check.URL()
	d.Message = r.check.ID + ": " + d.Message
	silence := r.ignores.silence(r.pass.Fset, r.check.ID, d.Pos)
	r.result.Findings = append(r.result.Findings, Finding{Diagnostic: d, Severity: severity,
		Function: r.functionAt(d.Pos), Silenced: silence})
	if silence == nil {
		r.pass.Report(d)
	}
}

// functionAt names the function or method that a position stands in.
func (r *reporter) functionAt(pos token.Pos) string {
	for _, file := range r.pass.Files {
		if pos < file.FileStart || pos > file.FileEnd {
			continue
		}
		for _, decl := range file.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			start := decl.Pos()
			if ok && fn.Doc != nil {
				start = fn.Doc.Pos()
			}
			if !ok || pos < start || pos > fn.End() {
				continue
			}
			if fn.Recv != nil && len(fn.Recv.List) == 1 {
				return directive.ReceiverBase(fn.Recv.List[0].Type) + "." + fn.Name.Name
			}
			return fn.Name.Name
		}
	}
	return ""
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
