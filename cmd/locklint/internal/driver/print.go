package driver

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/lockgen/lockgen/cmd/internal/files"
)

// maxRelated is how many related places of a finding are read by people. Programs get all of them.
const maxRelated = 5

// printText prints one line for each finding, with the lines around it if context is not negative, and the related
// places indented, the first few of many.
func printText(w io.Writer, list []finding, context int) error {
	var b strings.Builder
	for _, f := range list {
		fmt.Fprintf(&b, "%s:%d:%d: %s\n", files.Name(relative(f.File)), f.Line, f.Column, f.Message)
		if context >= 0 {
			printContext(&b, f, context)
		}
		for i, r := range f.Related {
			text := r.Message
			if i == maxRelated {
				text = fmt.Sprintf("and %d more", len(f.Related)-i)
			}
			fmt.Fprintf(&b, "%s:%d:%d: \t%s\n", files.Name(relative(r.File)), r.Line, r.Column, text)
			if i == maxRelated {
				break
			}
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// printContext prints the lines of a finding and some around them, as go vet's own tool does.
func printContext(b *strings.Builder, f finding, around int) {
	lines := sourceLines(f.File)
	for i := max(1, f.Line-around); i <= min(len(lines), f.EndLine+around); i++ {
		fmt.Fprintf(b, "%d\t%s\n", i, strings.TrimSuffix(lines[i-1], "\r"))
	}
}

// printJSON prints the findings as one object, and with them what could not be looked at: without errors the list is
// complete. File names are relative to the current directory.
func printJSON(w io.Writer, list []finding, failures []string) error {
	for i := range list {
		list[i].relativize()
	}
	return encodeJSON(w, struct {
		Findings []finding `json:"findings"`
		Errors   []string  `json:"errors"`
	}{append([]finding{}, list...), append([]string{}, failures...)})
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

func encodeJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "\t")
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// What go vet -json prints for each package: findings by package and check. Those who read it for other tools find the
// same fields, and the severity and the URL besides.
type (
	vetFinding struct {
		Category string       `json:"category"`
		Severity string       `json:"severity"`
		URL      string       `json:"url"`
		Posn     string       `json:"posn"`
		End      string       `json:"end"`
		Message  string       `json:"message"`
		Fixes    []vetFix     `json:"suggested_fixes,omitempty"`
		Related  []vetRelated `json:"related,omitempty"`
	}
	vetFix struct {
		Message string    `json:"message"`
		Edits   []vetEdit `json:"edits"`
	}
	vetEdit struct {
		Filename string `json:"filename"`
		Start    int    `json:"start"`
		End      int    `json:"end"`
		New      string `json:"new"`
	}
	vetRelated struct {
		Posn    string `json:"posn"`
		Message string `json:"message"`
	}
)

// printVetJSON prints the findings of one package for go vet -json.
func printVetJSON(w io.Writer, id string, list []finding) error {
	byCheck := map[string][]vetFinding{}
	for _, f := range list {
		v := vetFinding{
			Category: f.ID, Severity: string(f.Severity), URL: f.URL, Message: f.Message,
			Posn: f.posn(), End: fmt.Sprintf("%s:%d:%d", f.File, f.EndLine, f.EndColumn),
		}
		if f.Fix != nil {
			fix := vetFix{Message: f.Fix.Message}
			for _, e := range f.Fix.Edits {
				fix.Edits = append(fix.Edits, vetEdit{e.File, e.Start, e.End, e.New})
			}
			v.Fixes = []vetFix{fix}
		}
		for _, r := range f.Related {
			v.Related = append(v.Related, vetRelated{r.posn(), r.Message})
		}
		byCheck[f.ID] = append(byCheck[f.ID], v)
	}
	tree := map[string]map[string][]vetFinding{}
	if len(byCheck) > 0 {
		tree[id] = byCheck
	}
	return encodeJSON(w, tree)
}

func (p place) posn() string { return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column) }
