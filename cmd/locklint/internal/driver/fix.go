package driver

import (
	"cmp"
	"fmt"
	"go/format"
	"io"
	"os"
	"path/filepath"
	"slices"
)

// applyFixes applies the fixes of the findings and returns the findings that are left. A fix is applied as a whole or
// not at all; one that overlaps an earlier one waits for the next run.
func applyFixes(list []finding, stderr io.Writer) ([]finding, error) {
	edits := map[string][]edit{}
	var left []finding
	fixed := 0
	for _, f := range list {
		if f.Fix == nil || overlaps(edits, f.Fix.Edits) {
			left = append(left, f)
			continue
		}
		for _, e := range f.Fix.Edits {
			edits[e.File] = append(edits[e.File], e)
		}
		fixed++
	}
	for name, list := range edits {
		if err := rewrite(name, list); err != nil {
			return left, fmt.Errorf("cannot fix %s: %w", relative(name), err)
		}
	}
	if fixed > 0 {
		fmt.Fprintf(stderr, "locklint: fixed %d of %d findings in %d files\n", fixed, len(list), len(edits))
	}
	return left, nil
}

// overlaps reports whether one of some edits touches the text of an earlier one.
func overlaps(done map[string][]edit, edits []edit) bool {
	for _, e := range edits {
		for _, d := range done[e.File] {
			if e.Start < d.End && d.Start < e.End || e.Start == d.Start {
				return true
			}
		}
	}
	return false
}

// rewrite applies edits to a file and formats it. The file is replaced in one step, so that nobody finds half of it.
func rewrite(name string, edits []edit) error {
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	slices.SortFunc(edits, func(a, b edit) int { return cmp.Compare(b.Start, a.Start) })
	for _, e := range edits {
		if e.End > len(text) {
			return fmt.Errorf("the file has changed since it was read: run locklint again")
		}
		text = slices.Concat(text[:e.Start], []byte(e.New), text[e.End:])
	}
	if text, err = format.Source(text); err != nil {
		return fmt.Errorf("the result is not valid Go, nothing was written: %w", err)
	}
	info, err := os.Stat(name)
	if err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(name), ".locklint-*")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name()) // fails after the rename, as it should
	if _, err := tmp.Write(text); err != nil {
		tmp.Close()
		return err
	}
	if err := tmp.Close(); err != nil {
		return err
	}
	if err := os.Chmod(tmp.Name(), info.Mode().Perm()); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), name)
}
