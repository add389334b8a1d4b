package examples

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// room is a line of the list of rooms that names folders: how far it is indented, and their names.
var room = regexp.MustCompile(`^( *)((?:[\w.-]+/ )*[\w.-]+/)(?: |$)`)

// TestDocs_architectureNamesEveryRoom: a public package, a folder of an internal one and a nested module each have a line
// in docs/architecture.md, and what has a line is there. What the checks share is one room, and so is what the
// examples do.
func TestDocs_architectureNamesEveryRoom(t *testing.T) {
	const page = "docs/architecture.md"
	named := rooms(t, read(t, "../"+page))
	for dir := range named {
		if info, err := os.Stat("../" + dir); err != nil || !info.IsDir() {
			t.Errorf("%s names %s, which is no folder", page, dir)
		}
	}
	found := 0
	for dir, what := range folders(t) {
		found++
		if !named[dir] {
			t.Errorf("%s does not name %s, %s", page, dir, what)
		}
	}
	if found < 70 {
		t.Errorf("only %d rooms found in the tree", found)
	}
}

// rooms returns the folders that the page's list of rooms names.
func rooms(t *testing.T, page string) map[string]bool {
	t.Helper()
	_, list, ok := strings.Cut(page, "```\ncmd/\n")
	list, _, ended := strings.Cut("cmd/\n"+list, "```\n")
	if !ok || !ended {
		t.Fatal("no list of rooms")
	}
	named := map[string]bool{}
	var above []string
	for line := range strings.Lines(list) {
		m := room.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
		if m == nil { // goes on with what the line above says
			continue
		}
		depth := len(m[1]) / 2
		if depth > len(above) {
			t.Fatalf("%q is indented too far", line)
		}
		above = above[:depth]
		names := strings.Fields(m[2])
		for _, name := range names {
			named[path.Join(path.Join(above...), name)] = true
		}
		above = append(above, names[len(names)-1])
	}
	return named
}

// folders returns the folders that must be named, each with why.
func folders(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir("..", func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && (entry.Name() == "testdata" || entry.Name() == ".git") {
			return fs.SkipDir
		}
		dir := strings.TrimPrefix(path.Dir(filepath.ToSlash(file)), "..")
		dir = strings.TrimPrefix(dir, "/")
		switch {
		case dir == "" || entry.IsDir():
		case entry.Name() == "go.mod":
			found[dir] = "a nested module"
		case !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go"):
		default:
			if room, what := roomOf(dir); room != "" {
				found[room] = what
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// roomOf returns the folder that must be named for a folder with code, and why.
func roomOf(dir string) (room, why string) {
	const checks = "cmd/locklint/lockcheck"
	switch before, inside, internal := strings.Cut("/"+dir, "/internal/"); {
	case strings.HasPrefix(dir, checks+"/internal/"), strings.HasPrefix(dir, "examples/"):
		return "", ""
	case strings.HasPrefix(dir, checks+"/checks/"):
		return checks + "/checks", "the checks"
	case internal:
		name, _, _ := strings.Cut(inside, "/")
		return strings.TrimPrefix(before+"/internal/"+name, "/"), "an internal folder"
	}
	for _, public := range []string{"runtime", "jobs", checks} {
		if dir == public || strings.HasPrefix(dir, public+"/") {
			return dir, "a public package"
		}
	}
	return "", ""
}
