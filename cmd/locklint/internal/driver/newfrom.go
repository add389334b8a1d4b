package driver

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// changedLines are the lines that git says are new, by file; nil for a file that is new as a whole.
type changedLines map[string][]span

type span struct{ first, last int }

// changedSince asks git what the working tree has that revision rev had not when work on top of it began. What others
// have done to rev since is not ours: without the step back to the common ancestor their changes would count as new,
// the wrong way round. A shallow clone may not know the ancestor; then rev itself has to do.
func changedSince(rev string, stderr io.Writer) (changedLines, error) {
	top, err := git("rev-parse", "--show-toplevel")
	if err != nil {
		return nil, fmt.Errorf("-new-from-rev needs a git repository: %w", err)
	}
	dir := strings.TrimRight(string(top), "\n")
	if _, err := git("rev-parse", "--verify", "--quiet", "--end-of-options", rev+"^{commit}"); err != nil {
		return nil, fmt.Errorf("-new-from-rev %s: git knows no such revision here; "+
			"in CI, fetch more than the last commit", rev)
	}
	base := rev
	if common, err := git("merge-base", rev, "HEAD"); err == nil {
		base = strings.TrimSpace(string(common))
	} else {
		fmt.Fprintf(stderr, "locklint: warning: git knows no common ancestor of %s and HEAD, so lines that %s has changed since "+
			"count as new: fetch more of the history (git fetch --unshallow)\n", rev, rev)
	}
	// A renamed file has old lines under a new name.
	diff, err := git("-C", dir, "-c", "core.quotepath=off", "diff", "--no-color", "--no-ext-diff", "--find-renames",
		"-U0", "--inter-hunk-context=0", "--no-textconv", "--src-prefix=a/", "--dst-prefix=b/", base, "--", "*.go")
	if err != nil {
		return nil, fmt.Errorf("-new-from-rev %s: %w", rev, err)
	}
	changed, err := parseDiff(diff, dir)
	if err != nil {
		return nil, fmt.Errorf("-new-from-rev %s: %w", rev, err)
	}
	untracked, err := git("-C", dir, "ls-files", "-z", "--others", "--exclude-standard", "--", "*.go")
	if err != nil {
		return nil, fmt.Errorf("-new-from-rev %s: %w", rev, err)
	}
	for name := range strings.SplitSeq(string(untracked), "\x00") {
		if name != "" {
			changed[filepath.Join(dir, filepath.FromSlash(name))] = nil
		}
	}
	return changed, nil
}

func git(args ...string) ([]byte, error) {
	out, err := exec.Command("git", args...).Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return nil, fmt.Errorf("git %s: %w: %s", args[0], err, bytes.TrimSpace(exit.Stderr))
	}
	return out, err
}

var hunkHead = regexp.MustCompile(`^@@ -\S+ \+(\d+)(?:,(\d+))? @@`)

// parseDiff reads the new sides of a unified diff without context.
func parseDiff(diff []byte, dir string) (changedLines, error) {
	changed := changedLines{}
	file, left := "", 0 // left: lines of the hunk that are still to come
	lines := bufio.NewScanner(bytes.NewReader(diff))
	lines.Buffer(nil, len(diff)+1)
	for lines.Scan() {
		line := lines.Text()
		if left > 0 && strings.HasPrefix(line, "+") { // code may look like the lines below
			left--
			continue
		}
		if name, ok := strings.CutPrefix(line, "+++ "); ok {
			name = strings.TrimSuffix(name, "\t") // git marks the end of a name with blanks, also of one in quotes
			if unquoted, err := strconv.Unquote(name); err == nil {
				name = unquoted
			}
			file = filepath.Join(dir, filepath.FromSlash(strings.TrimPrefix(name, "b/")))
			continue
		}
		if m := hunkHead.FindStringSubmatch(line); m != nil {
			first, err := lineCount(m[1])
			count := 1
			if err == nil && m[2] != "" {
				count, err = lineCount(m[2])
			}
			if err != nil {
				return nil, fmt.Errorf("cannot understand git's line %q: %w", line, err)
			}
			if left = count; count > 0 {
				changed[file] = append(changed[file], span{first, first + count - 1})
			}
		}
	}
	return changed, lines.Err()
}

// lineCount reads a number that is small enough for sums of two.
func lineCount(text string) (int, error) {
	n, err := strconv.ParseInt(text, 10, 32)
	return int(n), err
}

// only leaves the findings that the changes may have caused: the finding itself, or one of the places that it tells
// about, such as the return that leaves the lock held, is on a changed line.
func (c changedLines) only(list []finding) []finding {
	return slices.DeleteFunc(list, func(f finding) bool {
		return !c.touch(f.place) && !slices.ContainsFunc(f.Related, func(r related) bool { return c.touch(r.place) })
	})
}

func (c changedLines) touch(p place) bool {
	name, err := filepath.EvalSymlinks(p.File) // as git names it
	if err != nil {
		name = p.File
	}
	spans, ok := c[name]
	touches := func(s span) bool { return s.first <= p.EndLine && p.Line <= s.last }
	return ok && (spans == nil || slices.ContainsFunc(spans, touches))
}
