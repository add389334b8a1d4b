package unit

import (
	"fmt"
	"go/ast"
	"go/types"
	"os"
	"slices"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck"
	"golang.org/x/tools/go/analysis"
)

// A run is the analyzers at work on one package, one after the other: packages run side by side.
type run struct {
	pkg   *Package
	files []*ast.File
	text  map[string][]byte
	info  *types.Info
	res   *Result
	facts *factSet
	done  map[*analysis.Analyzer]outcome
}

type outcome struct {
	result any
	err    error // skipped, or failed
}

func newRun(p *Package, files []*ast.File, text map[string][]byte, info *types.Info, res *Result) *run {
	return &run{
		pkg: p, files: files, text: text, info: info, res: res,
		facts: newFactSet(res.Types, p.Facts, p.Linked),
		done:  map[*analysis.Analyzer]outcome{},
	}
}

// all runs the checks and returns what each of them found. Without any check it still collects the facts.
func (r *run) all(checks []*lockcheck.Check) map[*lockcheck.Check]*lockcheck.Result {
	found := map[*lockcheck.Check]*lockcheck.Result{}
	for _, c := range checks {
		if res, ok := r.analyze(c.Analyzer).result.(*lockcheck.Result); ok {
			found[c] = res
		}
	}
	for _, c := range lockcheck.Checks {
		r.collect(c.Analyzer)
	}
	return found
}

// collect runs the analyzers that tell other packages something, if they have not run for a check.
func (r *run) collect(a *analysis.Analyzer) {
	if len(a.FactTypes) > 0 {
		r.analyze(a)
		return
	}
	for _, req := range a.Requires {
		r.collect(req)
	}
}

var errSkipped = fmt.Errorf("the package does not compile")

// analyze runs an analyzer, what it requires first.
func (r *run) analyze(a *analysis.Analyzer) outcome {
	if o, ok := r.done[a]; ok {
		return o
	}
	o := outcome{}
	inputs := map[*analysis.Analyzer]any{}
	for _, req := range a.Requires {
		in := r.analyze(req)
		if in.err != nil {
			o.err = in.err
		}
		inputs[req] = in.result
	}
	if (r.pkg.Broken || len(r.res.Errors) > 0) && !a.RunDespiteErrors {
		o.err = errSkipped
	}
	if o.err == nil {
		if o.result, o.err = r.runOne(a, inputs); o.err != nil {
			r.res.Failed = append(r.res.Failed, fmt.Errorf("%s on %s: %w", a.Name, r.pkg.Path, o.err))
		}
	}
	r.done[a] = o
	return o
}

// runOne runs an analyzer. The checks recover from their own panics; the analyzers that they require may not.
func (r *run) runOne(a *analysis.Analyzer, inputs map[*analysis.Analyzer]any) (result any, err error) {
	defer func() {
		if p := recover(); p != nil {
			lockcheck.OnPanic(p)
			err = fmt.Errorf("internal error: %v", p)
		}
	}()
	return a.Run(r.pass(a, inputs))
}

func (r *run) pass(a *analysis.Analyzer, inputs map[*analysis.Analyzer]any) *analysis.Pass {
	var typeErrors []types.Error
	for _, err := range r.res.Errors {
		if e, ok := err.(types.Error); ok {
			typeErrors = append(typeErrors, e)
		}
	}
	return &analysis.Pass{
		Analyzer:     a,
		Fset:         r.pkg.Fset,
		Files:        r.files,
		OtherFiles:   r.pkg.OtherFiles,
		IgnoredFiles: r.pkg.IgnoredFiles,
		Pkg:          r.res.Types,
		TypesInfo:    r.info,
		TypesSizes:   r.pkg.Sizes,
		TypeErrors:   typeErrors,
		Module:       r.pkg.Module,
		ResultOf:     inputs,
		Report:       func(analysis.Diagnostic) {}, // the checks' results hold the same, and more
		ReadFile:     r.readFile,

		ImportObjectFact:  r.facts.importObject,
		ExportObjectFact:  r.facts.exportObject,
		ImportPackageFact: r.facts.importPackage,
		ExportPackageFact: r.facts.exportPackage,
		AllObjectFacts:    r.facts.allObjectFacts,
		AllPackageFacts:   r.facts.allPackageFacts,
	}
}

// readFile reads a file of the package, as it was when it was parsed.
func (r *run) readFile(name string) ([]byte, error) {
	if text, ok := r.text[name]; ok {
		return text, nil
	}
	if slices.Contains(r.pkg.OtherFiles, name) || slices.Contains(r.pkg.IgnoredFiles, name) {
		return os.ReadFile(name)
	}
	return nil, fmt.Errorf("%s is not a file of the package", name)
}
