package driver

import (
	"cmp"
	"fmt"
	"go/format"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/rogpeppe/go-internal/diff"
)

// A change is a file before and after the fixes.
type change struct {
	file     string
	old, new []byte
}

// applyFixes works out what the fixes of the findings make of the files, and which findings are left. A fix is applied
// as a whole or not at all; one that overlaps an earlier one waits for the next run.
func applyFixes(list []finding) (changes []change, left []finding, err error) {
	edits := map[string][]edit{}
	for _, f := range list {
		if f.Fix == nil || overlaps(edits, f.Fix.Edits) {
			left = append(left, f)
			continue
		}
		for _, e := range f.Fix.Edits {
			edits[e.File] = append(edits[e.File], e)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(edits)) {
		c, err := rewrite(name, edits[name])
		if err != nil {
			return nil, list, fmt.Errorf("cannot fix %s: %w", relative(name), err)
		}
		changes = append(changes, c)
	}
	return changes, left, nil
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

// rewrite applies edits to the text of a file and formats it.
func rewrite(name string, edits []edit) (change, error) {
	old, err := os.ReadFile(name)
	if err != nil {
		return change{}, err
	}
	text := old
	slices.SortFunc(edits, func(a, b edit) int { return cmp.Compare(b.Start, a.Start) })
	for _, e := range edits {
		if e.End > len(text) {
			return change{}, fmt.Errorf("the file has changed since it was read: run locklint again")
		}
		text = slices.Concat(text[:e.Start], []byte(e.New), text[e.End:])
	}
	if text, err = format.Source(text); err != nil {
		return change{}, fmt.Errorf("the result is not valid Go, nothing was written: %w", err)
	}
	return change{name, old, text}, nil
}

// write replaces the file in one step, so that nobody finds half of it.
func (c change) write() error {
	info, err := os.Stat(c.file)
	if err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(c.file), ".locklint-*")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name()) // fails after the rename, as it should
	if _, err := tmp.Write(c.new); err != nil {
		tmp.Close()
		return err
	}
	if err := tmp.Close(); err != nil {
		return err
	}
	if err := os.Chmod(tmp.Name(), info.Mode().Perm()); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), c.file)
}

// unified is the change as patch(1) takes it.
func (c change) unified() []byte {
	name := filepath.ToSlash(relative(c.file))
	return diff.Diff(name+".orig", c.old, name, c.new)
}
