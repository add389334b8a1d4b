package driver

import (
	"cmp"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/lockgen/lockgen/cmd/internal/files"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck"
	"golang.org/x/tools/go/analysis"
)

// A finding is one diagnostic with everything that the vet protocol leaves out. Its JSON form is part of the
// command's interface. Columns count bytes from 1, offsets bytes from 0.
type finding struct {
	ID       string             `json:"id"`
	Severity lockcheck.Severity `json:"severity"`
	Message  string             `json:"message"`
	URL      string             `json:"url"`
	place
	Function string    `json:"function,omitempty"`
	Related  []related `json:"related,omitempty"`
	Fix      *fix      `json:"fix,omitempty"`
	Silenced *silenced `json:"silenced,omitempty"`
}

type place struct {
	File      string `json:"file"`
	Line      int    `json:"line"`
	Column    int    `json:"column"`
	EndLine   int    `json:"endLine"`
	EndColumn int    `json:"endColumn"`
}

type related struct {
	Message string `json:"message"`
	place
}

type fix struct {
	Message string `json:"message"`
	Edits   []edit `json:"edits"`
}

type edit struct {
	File  string `json:"file"`
	Start int    `json:"start"`
	End   int    `json:"end"`
	New   string `json:"new"`

	at place // where Start and End are
}

// silenced says why a finding does not count.
type silenced struct {
	By     string `json:"by"` // "comment" or "baseline"
	Reason string `json:"reason,omitempty"`
}

// findingsOf turns the results of checks on one package into findings.
func findingsOf(fset *token.FileSet, results map[*lockcheck.Check]*lockcheck.Result) []finding {
	var list []finding
	for check, res := range results {
		for _, d := range res.Findings {
			f := finding{
				ID: check.ID, Severity: d.Severity, Message: d.Message, URL: d.URL, place: placeOf(fset, d.Pos, d.End),
				Function: d.Function,
			}
			for _, r := range d.Related {
				f.Related = append(f.Related, related{r.Message, placeOf(fset, r.Pos, r.End)})
			}
			if len(d.SuggestedFixes) > 0 {
				f.Fix = &fix{Message: d.SuggestedFixes[0].Message}
				for _, e := range d.SuggestedFixes[0].TextEdits {
					f.Fix.Edits = append(f.Fix.Edits, editOf(fset, e))
				}
			}
			if d.Silenced != nil {
				f.Silenced = &silenced{By: "comment", Reason: d.Silenced.Reason}
			}
			list = append(list, f)
		}
	}
	return list
}

func editOf(fset *token.FileSet, e analysis.TextEdit) edit {
	file, end := fset.File(e.Pos), max(e.Pos, e.End)
	return edit{file.Name(), file.Offset(e.Pos), file.Offset(end), string(e.NewText), placeOf(fset, e.Pos, end)}
}

// tidy puts findings in the order of their places and leaves each in once: with tests a file belongs to several
// packages.
func tidy(list []finding) []finding {
	slices.SortStableFunc(list, func(a, b finding) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column),
			cmp.Compare(a.ID, b.ID), cmp.Compare(a.Message, b.Message))
	})
	return slices.CompactFunc(list, func(a, b finding) bool { return a.place == b.place && a.Message == b.Message })
}

// counting are the findings that are not silenced.
func counting(list []finding) []finding {
	return slices.DeleteFunc(slices.Clone(list), func(f finding) bool { return f.Silenced != nil })
}

func placeOf(fset *token.FileSet, pos, end token.Pos) place {
	p, e := fset.Position(pos), fset.Position(cmp.Or(end, pos))
	return place{p.Filename, p.Line, p.Column, e.Line, e.Column}
}

// workingDir is the current directory, "" if it is gone.
func workingDir() string {
	dir, _ := os.Getwd()
	return dir
}

// relative is a file's name as seen from the current directory, if that is shorter.
func relative(name string) string {
	dir := workingDir()
	if dir == "" {
		return name
	}
	if rel, err := filepath.Rel(dir, name); err == nil && len(rel) < len(name) {
		return rel
	}
	return name
}

// relativeText is relative for a message that starts with a file's name.
func relativeText(text string) string {
	drive := filepath.VolumeName(text)
	name, rest, ok := strings.Cut(text[len(drive):], ":")
	if name = drive + name; !ok || !filepath.IsAbs(name) {
		return text
	}
	return files.Name(relative(name)) + ":" + rest
}
