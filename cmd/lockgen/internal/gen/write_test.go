package gen

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func write(t *testing.T, path, text string, mode fs.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil { // whatever the umask says
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) (string, fs.FileMode) {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(content), info.Mode()
}

func TestCommit_keepsTheMode(t *testing.T) {
	dir := t.TempDir()
	old, fresh := filepath.Join(dir, "lock_gen.go"), filepath.Join(dir, "lock_linux_gen.go")
	write(t, filepath.Join(dir, "shop.go"), "package shop", 0o660)
	write(t, old, "old", 0o604)
	done, err := Commit([]File{{Path: old, Want: []byte("new"), Have: []byte("old")}, {Path: fresh, Want: []byte("new")}})
	if err != nil || len(done) != 2 {
		t.Fatalf("%d files, %v", len(done), err)
	}
	if text, mode := read(t, old); text != "new" || mode.Perm() != 0o604 {
		t.Errorf("%q with mode %v, want the mode that it had", text, mode)
	}
	if text, mode := read(t, fresh); text != "new" || mode.Perm() != 0o660 {
		t.Errorf("%q with mode %v, want that of the sources", text, mode)
	}
}

func TestCommit_leavesUnchangedFilesAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock_gen.go")
	write(t, path, "same", 0o444)
	before, _ := os.Stat(path)
	done, err := Commit([]File{{Path: path, Want: []byte("same"), Have: []byte("same")}})
	after, _ := os.Stat(path)
	if err != nil || len(done) != 0 || !os.SameFile(before, after) || before.ModTime() != after.ModTime() {
		t.Errorf("%d files written, %v", len(done), err)
	}
}

// TestCommit_replacesInOneStep: who has the old file open, or under another name, keeps all of the old text. Writing
// into the file instead of renaming over it would show.
func TestCommit_replacesInOneStep(t *testing.T) {
	dir := t.TempDir()
	path, other := filepath.Join(dir, "lock_gen.go"), filepath.Join(dir, "other")
	write(t, path, "old", 0o644)
	if err := os.Link(path, other); err != nil {
		t.Skip(err)
	}
	if _, err := Commit([]File{{Path: path, Want: []byte("new"), Have: []byte("old")}}); err != nil {
		t.Fatal(err)
	}
	if text, _ := read(t, path); text != "new" {
		t.Errorf("the file holds %q", text)
	}
	if text, _ := read(t, other); text != "old" {
		t.Errorf("the old file was written into: %q", text)
	}
}

// TestCommit_replacesALink: what a link leads to is somebody else's.
func TestCommit_replacesALink(t *testing.T) {
	dir := t.TempDir()
	real, link := filepath.Join(dir, "real.go"), filepath.Join(dir, "lock_gen.go")
	write(t, real, "old", 0o644)
	if err := os.Symlink("real.go", link); err != nil {
		t.Skip(err)
	}
	if _, err := Commit([]File{{Path: link, Want: []byte("new"), Have: []byte("old")}}); err != nil {
		t.Fatal(err)
	}
	if text, mode := read(t, link); text != "new" || !mode.IsRegular() {
		t.Errorf("in place of the link: %q, %s", text, mode)
	}
	if text, _ := read(t, real); text != "old" {
		t.Errorf("the file behind the link holds %q", text)
	}
}

// TestCommit_failureLeavesNothingBehind: a file that cannot be replaced stays, without a temporary one beside it.
func TestCommit_failureLeavesNothingBehind(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "lock_gen.go")
	write(t, filepath.Join(dir, "shop.go"), "package shop", 0o644)
	if err := os.MkdirAll(filepath.Join(path, "in the way"), 0o755); err != nil {
		t.Fatal(err)
	}
	_, err := Commit([]File{{Path: path, Want: []byte("new")}})
	if err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("error %v, want one that names the file", err)
	}
	entries, _ := os.ReadDir(dir)
	if len(entries) != 2 {
		t.Errorf("left behind: %v", entries)
	}
}

func TestCheck_sayHowFilesDiffer(t *testing.T) {
	var b strings.Builder
	stale, err := Check(&b, "/src", []File{
		{Path: "/src/a/lock_gen.go", Want: []byte("same\n"), Have: []byte("same\n")},
		{Path: "/src/b/lock_gen.go", Want: []byte("x\nnew\n"), Have: []byte("x\nold\n")},
		{Path: "/src/c/lock_gen.go", Want: []byte("new\n")},
		{Path: "/src/d/lock_gen.go", Have: []byte("old\n")},
		{Path: "/src/e/lock_gen.go", Want: []byte("new\n"), Have: []byte{}},
	})
	if err != nil || !stale {
		t.Fatalf("stale %t, %v", stale, err)
	}
	for _, want := range []string{
		"--- a/b/lock_gen.go\n+++ b/b/lock_gen.go\n@@ -1,2 +1,2 @@\n x\n-old\n+new\n",
		"--- /dev/null\n+++ b/c/lock_gen.go\n@@ -0,0 +1,1 @@\n+new\n",
		"--- a/d/lock_gen.go\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-old\n",
		"--- a/e/lock_gen.go\n+++ b/e/lock_gen.go\n",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
	if strings.Contains(b.String(), "b/a/") {
		t.Error("an unchanged file is shown")
	}
}
