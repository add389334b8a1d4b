package driver

import (
	"bytes"
	"cmp"
	"fmt"
	"go/format"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/lockgen/lockgen/cmd/internal/files"
	"github.com/rogpeppe/go-internal/diff"
)

// A change is a file before and after the fixes.
type change struct {
	file     string
	old, new []byte
}

// applyFixes works out what the fixes of the findings make of the files, and which findings are left. A fix is applied
// as a whole or not at all; one that overlaps an earlier one waits until that is done.
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

// rewrite applies edits to the text of a file. It formats the result only if the file was formatted before: otherwise
// lines would change that no finding is about.
func rewrite(name string, edits []edit) (change, error) {
	old, err := files.Read(name)
	if err != nil {
		return change{}, err
	}
	text := old
	slices.SortFunc(edits, func(a, b edit) int { return cmp.Compare(b.Start, a.Start) })
	for _, e := range edits {
		if e.End > len(text) {
			return change{}, fmt.Errorf("the file has changed since it was read: run locklint again")
		}
		text = slices.Concat(text[:e.Start], lineEndsLike(e.New, old), text[e.End:])
	}
	formatted, err := format.Source(text)
	if err != nil {
		return change{}, fmt.Errorf("the result is not valid Go, nothing was written: %w", err)
	}
	if isFormatted(old) {
		text = files.Like(formatted, old)
	}
	return change{name, old, text}, nil
}

// lineEndsLike is a new piece of a file with the line ends that the file has. A piece that a fix moves has them
// already.
func lineEndsLike(piece string, old []byte) []byte {
	return files.Like([]byte(strings.ReplaceAll(piece, "\r\n", "\n")), files.TrimMark(old))
}

// isFormatted reports whether gofmt would change nothing in a file but its line ends and its byte order mark.
func isFormatted(old []byte) bool {
	text, err := format.Source(old)
	return err == nil && bytes.Equal(files.Like(text, old), old)
}

// write replaces the file in one step, so that nobody finds half of it.
func (c change) write() error {
	if !files.Below(sourceRoot(), c.file) {
		return fmt.Errorf("%s leads out of the module: fix it where it is", files.Name(c.file))
	}
	real, err := filepath.EvalSymlinks(c.file) // a link stays a link
	if err != nil {
		return err
	}
	info, err := os.Stat(real)
	if err != nil {
		return err
	}
	removeLeftovers(filepath.Dir(real))
	tmp, err := files.CreateTemp(filepath.Dir(real), tempPrefix)
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
	return files.Rename(tmp.Name(), real)
}

const tempPrefix = ".locklint_"

// removeLeftovers removes the temporary files of runs that were killed.
func removeLeftovers(dir string) {
	entries, _ := os.ReadDir(dir)
	for _, entry := range entries {
		if path := filepath.Join(dir, entry.Name()); files.Leftover(path, tempPrefix, nil) {
			_ = files.Remove(path) // it is only in the way
		}
	}
}

// unified is the change as patch(1) takes it, in a folder.
func (c change) unified(dir string) []byte {
	name := filepath.ToSlash(files.Relative(dir, c.file))
	return diff.Diff(files.Name(name+".orig"), c.old, files.Name(name), c.new)
}
