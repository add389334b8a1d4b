package driver

import (
	"cmp"
	"encoding/json"
	"fmt"
	"go/token"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck"
	"golang.org/x/tools/go/analysis/checker"
)

// A finding is one diagnostic with everything that the vet protocol leaves out. Its JSON form is part of the
// command's interface. Columns count bytes from 1, offsets bytes from 0.
type finding struct {
	ID       string             `json:"id"`
	Severity lockcheck.Severity `json:"severity"`
	Message  string             `json:"message"`
	URL      string             `json:"url"`
	place
	Related []related `json:"related,omitempty"`
	Fix     *fix      `json:"fix,omitempty"`
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
}

// findingsOf collects the diagnostics in the order of their places, each once: with tests a file belongs to several
// packages.
func findingsOf(graph *checker.Graph) []finding {
	var list []finding
	seen := map[string]bool{}
	for _, act := range graph.Roots {
		check := lockcheck.Lookup(act.Analyzer.Name)
		for _, d := range act.Diagnostics {
			fset := act.Package.Fset
			f := finding{ID: check.ID, Severity: check.Severity, Message: d.Message, URL: d.URL, place: placeOf(fset, d.Pos, d.End)}
			key := fmt.Sprint(f.place, f.Message)
			if seen[key] {
				continue
			}
			seen[key] = true
			for _, r := range d.Related {
				f.Related = append(f.Related, related{r.Message, placeOf(fset, r.Pos, r.End)})
			}
			if len(d.SuggestedFixes) > 0 {
				f.Fix = &fix{Message: d.SuggestedFixes[0].Message}
				for _, e := range d.SuggestedFixes[0].TextEdits {
					file := fset.File(e.Pos)
					f.Fix.Edits = append(f.Fix.Edits, edit{file.Name(), file.Offset(e.Pos), file.Offset(max(e.Pos, e.End)), string(e.NewText)})
				}
			}
			list = append(list, f)
		}
	}
	slices.SortStableFunc(list, func(a, b finding) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column),
			cmp.Compare(a.ID, b.ID), cmp.Compare(a.Message, b.Message))
	})
	return list
}

func placeOf(fset *token.FileSet, pos, end token.Pos) place {
	p, e := fset.Position(pos), fset.Position(cmp.Or(end, pos))
	return place{p.Filename, p.Line, p.Column, e.Line, e.Column}
}

// printFindings prints one line for each finding, with the related places indented, or all of them as one JSON
// object. File names are relative to the current directory.
func printFindings(w io.Writer, list []finding, asJSON bool) error {
	if asJSON {
		for i := range list {
			list[i].relativize()
		}
		enc := json.NewEncoder(w)
		enc.SetIndent("", "\t")
		enc.SetEscapeHTML(false)
		return enc.Encode(map[string][]finding{"findings": append([]finding{}, list...)})
	}
	for _, f := range list {
		if _, err := fmt.Fprintf(w, "%s:%d:%d: %s\n", relative(f.File), f.Line, f.Column, f.Message); err != nil {
			return err
		}
		for _, r := range f.Related {
			if _, err := fmt.Fprintf(w, "%s:%d:%d: \t%s\n", relative(r.File), r.Line, r.Column, r.Message); err != nil {
				return err
			}
		}
	}
	return nil
}

func (f *finding) relativize() {
	f.File = relative(f.File)
	for i := range f.Related {
		f.Related[i].File = relative(f.Related[i].File)
	}
	if f.Fix != nil {
		for i := range f.Fix.Edits {
			f.Fix.Edits[i].File = relative(f.Fix.Edits[i].File)
		}
	}
}

// relative is a file's name as seen from the current directory, if that is shorter.
func relative(name string) string {
	dir, err := os.Getwd()
	if err != nil {
		return name
	}
	if rel, err := filepath.Rel(dir, name); err == nil && len(rel) < len(name) {
		return rel
	}
	return name
}

// relativeText is relative for a message that starts with a file's name.
func relativeText(text string) string {
	name, rest, ok := strings.Cut(text, ":")
	if !ok || !filepath.IsAbs(name) {
		return text
	}
	return relative(name) + ":" + rest
}
