// Package ll1004 is the check LL1004; see doc.md.
package ll1004

import (
	_ "embed"
	"fmt"
	"go/ast"
	"go/token"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"

	"github.com/lockgen/lockgen/cmd/internal/directive"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/check"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/guards"
)

//go:embed doc.md
var page string

// Check is LL1004.
var Check = check.New(check.Spec{Page: page, Severity: check.Error, Syntactic: true, Run: checkGenerated})

// checkGenerated compares what lockgen has written with the directives. It sees the files of this build: a directive
// and its wrapper stand under the same constraint, so both are there or neither. Doc comments, which lockgen copies,
// are not compared; what decides who gets the lock is.
func checkGenerated(r *check.Reporter) {
	g := readGenerated(r)
	if g == nil {
		return
	}
	for _, found := range r.Directives() {
		g.broken = append(g.broken, found.Problems...)
		for _, a := range found.Funcs {
			fn, problems := directive.Bind(a.Directive, r.Target(found.File, a.Decl))
			g.take(fn)
			if len(problems)+len(a.Problems) == 0 && !g.handWritten(fn) {
				compare(r, g, fn)
			}
		}
	}
	for _, p := range slices.Concat(g.wrappers, g.jobs) {
		if !g.taken[p] {
			reportOrphan(r, g, p)
		}
	}
}

// generatedCode is what lockgen has written for a package.
type generatedCode struct {
	wrappers, jobs []*protection
	taken          map[*protection]bool     // those whose function has a directive
	funcs          map[member]*ast.FuncDecl // that people have written
	broken         []directive.Problem      // comments that should have been directives
	written        map[member]*ast.FuncDecl // declared in lockgen's files
	file           map[*ast.FuncDecl]string // base name
}

// readGenerated reads lockgen's files. Nil if the package has neither such a file nor a directive.
func readGenerated(r *check.Reporter) *generatedCode {
	g := &generatedCode{taken: map[*protection]bool{}, funcs: map[member]*ast.FuncDecl{},
		written: map[member]*ast.FuncDecl{}, file: map[*ast.FuncDecl]string{}}
	relevant := false
	for _, file := range r.Pass.Files {
		output := r.IsOutput(file)
		relevant = relevant || output || guards.MentionsDirective(file)
		if output {
			w, j := protectionsOf(file)
			g.wrappers, g.jobs = append(g.wrappers, w...), append(g.jobs, j...)
		}
		for _, decl := range file.Decls {
			fd, ok := decl.(*ast.FuncDecl)
			switch name := (member{}); {
			case !ok:
			case output:
				name = member{ownerOf(fd), fd.Name.Name}
				g.written[name], g.file[fd] = fd, filepath.Base(r.Pass.Fset.Position(fd.Pos()).Filename)
			default:
				name = member{ownerOf(fd), fd.Name.Name}
				g.funcs[name] = fd
			}
		}
	}
	if !relevant {
		return nil
	}
	return g
}

// take notes that a function has a directive, whatever its wrapper looks like.
func (g *generatedCode) take(fn *directive.Func) {
	for _, p := range slices.Concat(g.wrappers, g.jobs) {
		if p.body == bodyOf(fn) {
			g.taken[p] = true
		}
	}
	for _, p := range g.wrappers {
		if p.name() == wrapperOf(fn) {
			g.taken[p] = true
		}
	}
}

func bodyOf(fn *directive.Func) member { return member{fn.RecvType, fn.Decl.Name.Name} }

func wrapperOf(fn *directive.Func) member { return member{fn.RecvType, fn.Name} }

func (p *protection) name() member { return member{ownerOf(p.decl), p.decl.Name.Name} }

// handWritten reports whether somebody has declared the wrapper's name: that is LL1005's.
func (g *generatedCode) handWritten(fn *directive.Func) bool { return g.funcs[wrapperOf(fn)] != nil }

// compare reports what is missing or stale of one function.
func compare(r *check.Reporter, g *generatedCode, fn *directive.Func) {
	d := fn.Directive
	p := find(g.wrappers, func(p *protection) bool { return p.body == bodyOf(fn) && p.name() == wrapperOf(fn) },
		func(p *protection) bool { return p.body == bodyOf(fn) },
		func(p *protection) bool { return p.name() == wrapperOf(fn) })
	if p == nil {
		if g.written[wrapperOf(fn)] != nil {
			return // changed by hand beyond recognition
		}
		r.Report(analysis.Diagnostic{
			Pos: d.Pos(), End: d.End(),
			Message: fmt.Sprintf("generated code is missing: %s has no wrapper %s; %s", fn.Decl.Name.Name, fn.Name, runLockgen),
		})
		return
	}
	s := &staleness{r: r, fn: fn, file: g.file[p.decl], wrapper: p}
	s.wrapperDiffers(p)
	job := find(g.jobs, func(j *protection) bool { return j.body == bodyOf(fn) })
	switch {
	case d.Cron == nil && job != nil:
		s.add(directive.Arg{}, "there is no cron in the directive, and %s registers a job", s.file)
	case d.Cron != nil && job == nil:
		s.add(d.Cron.Arg, "%s registers no job", s.file)
	case job != nil:
		s.jobDiffers(job)
	}
	s.report()
}

// find returns the first element for which the earliest test holds, nil if there is none.
func find(list []*protection, tests ...func(*protection) bool) *protection {
	for _, test := range tests {
		if i := slices.IndexFunc(list, test); i >= 0 {
			return list[i]
		}
	}
	return nil
}

// runLockgen is how every message ends.
const runLockgen = "run lockgen (go generate)"

// reportOrphan reports a wrapper or job whose function has no directive: at that function, where the directive was,
// else where it is called. A comment that should have been a directive is LL1005's.
func reportOrphan(r *check.Reporter, g *generatedCode, p *protection) {
	what := p.decl.Name.Name
	if p.fields != nil {
		what = "the job in " + what
	}
	call := p.call.Pos()
	d := analysis.Diagnostic{Pos: p.decl.Name.Pos(), End: p.decl.Name.End()}
	gone := "which does not exist any more; " + runLockgen
	if body := g.funcs[p.body]; body != nil {
		if slices.ContainsFunc(g.broken, func(b directive.Problem) bool { return inDoc(body, b.Pos) }) {
			return
		}
		d = analysis.Diagnostic{Pos: body.Name.Pos(), End: body.Name.End(),
			Related: []analysis.RelatedInformation{{Pos: call, Message: "called here"}}}
		gone = "which has no //lock: directive; " + runLockgen + ", or put the directive back"
	}
	d.Message = fmt.Sprintf("generated code is orphaned: %s in %s runs %s, %s", what, g.file[p.decl], p.body.name, gone)
	r.ReportAnywhere(d)
}

// inDoc reports whether a position lies in or right above the doc comment of a function.
func inDoc(fd *ast.FuncDecl, pos token.Pos) bool {
	return fd.Doc != nil && fd.Doc.Pos() <= pos && pos <= fd.Doc.End()
}

// A staleness collects what is different.
type staleness struct {
	r       *check.Reporter
	fn      *directive.Func
	file    string // base name
	wrapper *protection
	at      directive.Arg // of the first difference that belongs to an option
	list    []string
}

// add notes a difference. The argument is zero if it does not come from an option.
func (s *staleness) add(at directive.Arg, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if slices.Contains(s.list, text) {
		return // the job's lock is the wrapper's
	}
	if s.at.Name == "" {
		s.at = at
	}
	s.list = append(s.list, text)
}

// differs notes that an option has another value.
func (s *staleness) differs(at directive.Arg, option, want, got string) {
	s.add(at, "%s is %s in the directive, %s in %s", option, want, got, s.file)
}

func (s *staleness) report() {
	if len(s.list) == 0 {
		return
	}
	d := s.fn.Directive
	pos, end := d.Pos(), d.End()
	if s.at.Name != "" {
		pos, end = s.at.Pos, s.at.End
	}
	s.r.Report(analysis.Diagnostic{
		Pos: pos, End: end,
		Message: fmt.Sprintf("generated code is stale: %s; %s", strings.Join(s.list, ", and "), runLockgen),
		Related: []analysis.RelatedInformation{{Pos: s.wrapper.decl.Name.Pos(), Message: "this wrapper is stale"}},
	})
}
