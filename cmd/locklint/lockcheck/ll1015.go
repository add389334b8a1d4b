package lockcheck

import (
	"bytes"
	"fmt"
	"go/token"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
)

var ll1015 = newIgnoreCheck()

// newIgnoreCheck makes the check of the ignore comments. It runs behind all others, also those that are switched off
// or not selected: whether a comment is of use does not depend on what somebody wants to see today.
func newIgnoreCheck() *Check {
	c := newCheck("LL1015", "ignore directive unused or without a reason", Warning, true, checkIgnores)
	c.Analyzer.Requires = []*analysis.Analyzer{ignoresAnalyzer}
	for _, j := range judging {
		c.Analyzer.Requires = append(c.Analyzer.Requires, j.Analyzer)
	}
	return c
}

// checkIgnores reports the //locklint:ignore comments that silence nothing. //nolint:locklint is left to those who
// check nolint comments of all linters.
func checkIgnores(r *reporter) {
	for _, ig := range r.ignores.list {
		if ig.nolint {
			continue
		}
		if message := ig.malformed(); message != "" {
			r.report(analysis.Diagnostic{Pos: ig.pos, End: ig.end(), Message: message})
			continue
		}
		if unused := ig.unused(); len(unused) > 0 {
			r.reportUnused(ig, unused)
		}
	}
}

// malformed says what keeps a comment from silencing anything at all, "" if nothing does.
func (ig *ignore) malformed() string {
	switch {
	case len(ig.ids) == 0:
		return "this comment silences nothing: name the checks, as in //locklint:ignore LL2002 the reason"
	case ig.reason == "":
		return fmt.Sprintf("this comment silences nothing: add the reason, as in //locklint:ignore %s the key is unique "+
			"for each run",
			strings.Join(ig.ids, ","))
	}
	for _, id := range ig.ids {
		if id != "LL1015" && !slices.ContainsFunc(judging, func(c *Check) bool { return c.ID == id }) {
			return fmt.Sprintf("there is no check %s: locklint -h lists them", id)
		}
	}
	return ""
}

// unused are the IDs of which the comment has silenced no finding. LL1015 may be one of the IDs, to keep a comment
// that is only needed with other build tags, and is never unused itself.
func (ig *ignore) unused() []string {
	if slices.Contains(ig.ids, "LL1015") {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(ig.ids), func(id string) bool { return ig.used[id] })
}

func (r *reporter) reportUnused(ig *ignore, unused []string) {
	d := analysis.Diagnostic{
		Pos: ig.pos, End: ig.end(),
		Message: fmt.Sprintf("there is no %s here to silence: remove the comment", unused[0]),
	}
	edit := r.removal(ig)
	if left := slices.DeleteFunc(slices.Clone(ig.ids), func(id string) bool { return !ig.used[id] }); len(left) > 0 {
		d.Message = fmt.Sprintf("there is no %s here to silence: remove the ID", strings.Join(unused, ", "))
		text := "//locklint:ignore " + strings.Join(left, ",") + " " + ig.reason
		edit = analysis.TextEdit{Pos: ig.pos, End: ig.end(), NewText: []byte(text)}
	}
	d.SuggestedFixes = []analysis.SuggestedFix{{Message: "remove what is unused", TextEdits: []analysis.TextEdit{edit}}}
	r.report(d)
}

// removal takes a comment out, with its line if nothing else stands on it.
func (r *reporter) removal(ig *ignore) analysis.TextEdit {
	edit := analysis.TextEdit{Pos: ig.pos, End: ig.end()}
	file := r.pass.Fset.File(ig.pos)
	text, err := r.pass.ReadFile(file.Name())
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

func (ig *ignore) end() token.Pos { return ig.pos + token.Pos(len(ig.text)) }
