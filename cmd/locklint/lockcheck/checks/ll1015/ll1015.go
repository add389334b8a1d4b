// Package ll1015 is the check LL1015; see doc.md.
package ll1015

import (
	"bytes"
	_ "embed"
	"fmt"
	"go/token"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/check"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/suppress"
)

//go:embed doc.md
var page string

// Check is LL1015.
var Check = check.New(check.Spec{Page: page, Severity: check.Warning, Fixable: true, Run: checkIgnores})

// Watch makes the check run after all others of a list, including those that are switched off or not selected. Whether
// a comment is needed does not depend on the selection of checks.
func Watch(list []*check.Check) {
	for _, c := range list {
		if c != Check {
			Check.Analyzer.Requires = append(Check.Analyzer.Requires, c.Analyzer)
		}
	}
}

// checkIgnores reports the //locklint:ignore comments that silence nothing. //nolint:locklint is left to those who
// check nolint comments of all linters.
func checkIgnores(r *check.Reporter) {
	for _, ig := range r.Ignores.List {
		if ig.Nolint {
			continue
		}
		if message := malformed(ig, r.Pass.Analyzer.Requires); message != "" {
			r.Report(analysis.Diagnostic{Pos: ig.Pos, End: end(ig), Message: message})
			continue
		}
		if unused := unused(ig); len(unused) > 0 {
			reportUnused(r, ig, unused)
		}
	}
}

// malformed says what keeps a comment from silencing anything at all, "" if nothing does.
func malformed(ig *suppress.Comment, known []*analysis.Analyzer) string {
	switch {
	case len(ig.IDs) == 0:
		return "this comment silences nothing: name the checks, as in //locklint:ignore LL2002 the reason"
	case ig.Reason == "":
		return fmt.Sprintf("this comment silences nothing: add the reason, as in //locklint:ignore %s the key is unique "+
			"for each run",
			strings.Join(ig.IDs, ","))
	}
	for _, id := range ig.IDs {
		if id != "LL1015" && !slices.ContainsFunc(known, func(a *analysis.Analyzer) bool { return a.Name == id }) {
			return fmt.Sprintf("there is no check %s: locklint -h lists them", id)
		}
	}
	return ""
}

// unused are the IDs of which the comment has silenced no finding. LL1015 may be one of the IDs, to keep a comment
// that is only needed with other build tags, and is never unused itself.
func unused(ig *suppress.Comment) []string {
	if slices.Contains(ig.IDs, "LL1015") {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(ig.IDs), func(id string) bool { return ig.Used[id] })
}

func reportUnused(r *check.Reporter, ig *suppress.Comment, unused []string) {
	d := analysis.Diagnostic{
		Pos: ig.Pos, End: end(ig),
		Message: fmt.Sprintf("there is no %s here to silence: remove the comment", unused[0]),
	}
	edit := removal(r, ig)
	if left := slices.DeleteFunc(slices.Clone(ig.IDs), func(id string) bool { return !ig.Used[id] }); len(left) > 0 {
		d.Message = fmt.Sprintf("there is no %s here to silence: remove the ID", strings.Join(unused, ", "))
		text := "//locklint:ignore " + strings.Join(left, ",") + " " + ig.Reason
		edit = analysis.TextEdit{Pos: ig.Pos, End: end(ig), NewText: []byte(text)}
	}
	d.SuggestedFixes = []analysis.SuggestedFix{{Message: "remove what is unused", TextEdits: []analysis.TextEdit{edit}}}
	r.Report(d)
}

// removal takes a comment out, with its line if nothing else stands on it.
func removal(r *check.Reporter, ig *suppress.Comment) analysis.TextEdit {
	edit := analysis.TextEdit{Pos: ig.Pos, End: end(ig)}
	file := r.Pass.Fset.File(ig.Pos)
	text, err := r.Pass.ReadFile(file.Name())
	from, to := file.Offset(edit.Pos), file.Offset(edit.End)
	if err != nil || to > len(text) {
		return edit
	}
	start := bytes.LastIndexByte(text[:from], '\n') + 1
	lead := bytes.TrimLeft(text[start:from], " \t")
	if len(lead) > 0 { // behind code: with the blanks before it
		start += len(bytes.TrimRight(text[start:from], " \t"))
		return analysis.TextEdit{Pos: file.Pos(start), End: edit.End}
	}
	if rest := bytes.IndexByte(text[to:], '\n'); rest >= 0 {
		to += rest + 1
	}
	return analysis.TextEdit{Pos: file.Pos(start), End: file.Pos(to)}
}

func end(ig *suppress.Comment) token.Pos { return ig.Pos + token.Pos(len(ig.Text)) }
