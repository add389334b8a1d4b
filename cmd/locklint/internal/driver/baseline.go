package driver

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
)

// A baseline is the findings that a team has decided to live with for now. It names no lines, so that edits elsewhere
// in a file do not bring old findings back: a finding is the same if file, function, check and message are, the numbers
// of lines in the message aside, and it is known as often as it was then. Where the file is gone, it was renamed, and the
// rest decides.
type baseline struct {
	Findings []known `json:"findings"`

	dir string // where it stands
}

// known is one or more findings that look the same.
type known struct {
	File     string `json:"file"` // from the baseline's directory, with slashes
	Function string `json:"function,omitempty"`
	ID       string `json:"id"`
	Message  string `json:"message"`
	Count    int    `json:"count"`
}

var lineNumber = regexp.MustCompile(`\b(lines? |\.go:)\d+(:\d+)?`)

// knownAs is how a baseline in a directory names a finding.
func knownAs(f finding, dir string) known {
	file := f.File
	if abs, err := filepath.Abs(file); err == nil {
		if rel, err := filepath.Rel(dir, abs); err == nil {
			file = filepath.ToSlash(rel)
		}
	}
	return known{File: file, Function: f.Function, ID: f.ID, Message: lineNumber.ReplaceAllString(f.Message, "${1}N")}
}

func readBaseline(name string) (*baseline, error) {
	text, err := os.ReadFile(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("there is no baseline %s: write one with locklint -baseline %s -write-baseline ./...",
			name, name)
	case err != nil:
		return nil, fmt.Errorf("cannot read the baseline: %w", err)
	}
	b := new(baseline)
	if err := json.Unmarshal(text, b); err != nil {
		return nil, fmt.Errorf("%s is not a baseline: %w; write it anew with -write-baseline", name, err)
	}
	b.dir, err = filepath.Abs(filepath.Dir(name))
	return b, err
}

// silence marks the findings that the baseline knows.
func (b *baseline) silence(list []finding) {
	left := map[known]int{}
	for _, k := range b.Findings {
		count := k.Count
		k.Count = 0
		left[k] += count
	}
	take := func(f *finding, k known) {
		if f.Silenced == nil && left[k] > 0 {
			left[k]--
			f.Silenced = &silenced{By: "baseline", Reason: "it is in the baseline"}
		}
	}
	for i := range list {
		take(&list[i], knownAs(list[i], b.dir))
	}
	for k, count := range left { // of files that are gone
		if _, err := os.Lstat(filepath.Join(b.dir, filepath.FromSlash(k.File))); count > 0 && errors.Is(err, fs.ErrNotExist) {
			delete(left, k)
			k.File = ""
			left[k] += count
		}
	}
	for i := range list {
		k := knownAs(list[i], b.dir)
		k.File = ""
		take(&list[i], k)
	}
}

// writeBaseline writes the findings that there are now.
func writeBaseline(name string, list []finding, stderr io.Writer) error {
	dir, err := filepath.Abs(filepath.Dir(name))
	if err != nil {
		return fmt.Errorf("cannot write the baseline: %w", err)
	}
	b := baseline{Findings: []known{}}
	for _, f := range list {
		k := knownAs(f, dir)
		same := func(o known) bool { o.Count = 0; return o == k }
		if i := slices.IndexFunc(b.Findings, same); i >= 0 {
			b.Findings[i].Count++
		} else {
			k.Count = 1
			b.Findings = append(b.Findings, k)
		}
	}
	slices.SortFunc(b.Findings, func(a, b known) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Function, b.Function), cmp.Compare(a.ID, b.ID), cmp.Compare(a.Message, b.Message))
	})
	f, err := os.Create(name)
	if err != nil {
		return fmt.Errorf("cannot write the baseline: %w", err)
	}
	defer f.Close()
	if err := encodeJSON(f, b); err != nil {
		return fmt.Errorf("cannot write the baseline: %w", err)
	}
	if err := f.Close(); err != nil {
		return fmt.Errorf("cannot write the baseline: %w", err)
	}
	fmt.Fprintf(stderr, "locklint: wrote %d findings to %s\n", len(list), name)
	return nil
}

// fingerprint is the same for a finding as long as it would count as the same in a baseline.
func fingerprint(k known) string {
	h := sha256.Sum256(fmt.Appendf(nil, "%s\x00%s\x00%s\x00%s", k.File, k.Function, k.ID, k.Message))
	return hex.EncodeToString(h[:16])
}
