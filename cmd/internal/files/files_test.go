package files

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func write(t *testing.T, path, text string) string {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestRead_refusesDevicesAndLargeFiles(t *testing.T) {
	if _, err := Read(os.DevNull); !errors.Is(err, ErrUnreadable) {
		t.Errorf("a device: %v", err)
	}
	if _, err := Read(t.TempDir()); !errors.Is(err, ErrUnreadable) {
		t.Errorf("a folder: %v", err)
	}
	large := filepath.Join(t.TempDir(), "large.go")
	file, err := os.Create(large)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(file.Truncate(MaxSize+1), file.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(large); !errors.Is(err, ErrUnreadable) {
		t.Errorf("a large file: %v", err)
	}
}

func TestReadBelow_followsLinksInsideOnly(t *testing.T) {
	root, outside := t.TempDir(), t.TempDir()
	write(t, filepath.Join(outside, "secret"), "secret")
	write(t, filepath.Join(root, "a.go"), "package a")
	for name, target := range map[string]string{
		"in.go": "a.go", "out.go": filepath.Join(outside, "secret"), "dangling.go": filepath.Join(outside, "none"),
	} {
		if err := os.Symlink(target, filepath.Join(root, name)); err != nil {
			t.Skip("no links here: ", err)
		}
	}
	for name, ok := range map[string]bool{"a.go": true, "in.go": true, "out.go": false, "dangling.go": false} {
		if text, err := ReadBelow(root, filepath.Join(root, name)); (err == nil) != ok {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
	if !Below(root, filepath.Join(root, "new.go")) || Below(root, filepath.Join(root, "..", "new.go")) {
		t.Error("a file that is not there yet is judged by its folder")
	}
}

func TestLike_keepsLineEndsAndMark(t *testing.T) {
	for _, c := range []struct{ text, old, want string }{
		{"a\nb\n", "", "a\nb\n"},
		{"a\nb\n", "x\n", "a\nb\n"},
		{"a\nb\n", "x\r\ny", "a\r\nb\r\n"},
		{"a\nb\n", "\ufeffx\n", "\ufeffa\nb\n"},
		{"\ufeffa\n", "\ufeffx\r\n", "\ufeffa\r\n"},
		{"a\n", "\n", "a\n"},
	} {
		if got := string(Like([]byte(c.text), []byte(c.old))); got != c.want {
			t.Errorf("%q like %q is %q, want %q", c.text, c.old, got, c.want)
		}
	}
}

func TestName_quotesWhatIsActedOn(t *testing.T) {
	for name, plain := range map[string]bool{"a/b c.go": true, "größe.go": true, "a\n::error::": false, "a\x1b[2J": false,
		"a\xff": false, "a\u202eb": false} {
		if got := Name(name); (got == name) != plain {
			t.Errorf("%q is printed as %s", name, got)
		}
	}
}

func TestLine_escapesWhatIsActedOn(t *testing.T) {
	for text, want := range map[string]string{
		"pattern ./größe: no":   "pattern ./größe: no",
		"-\x1b[31mx\n::error::": `-\x1b[31mx\n::error::`,
		"a\u202eb\xff\u2028":    `a\u202eb\xff\u2028`,
		`a\b "c"`:               `a\b "c"`,
		"\a\t\x9b\u009b":        `\a\t\x9b\u009b`,
	} {
		if got := Line(text); got != want {
			t.Errorf("%q is printed as %s, want %s", text, got, want)
		}
	}
	if got, want := Lines("go: x\r\n\ty\x1b[2J\n\nz"), "go: x\n\ty\\x1b[2J\n\nz"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := Names([]string{"./a", "b\n"}), `./a "b\n"`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestLeftover_ofADeadProcess: what a process left that is gone is removed at once, what a living one has stays.
func TestLeftover_ofADeadProcess(t *testing.T) {
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	name := func(pid int) string { return filepath.Join(dir, fmt.Sprintf(".x_%s_%d_1", host(), pid)) }
	for _, c := range []struct {
		pid  int
		text string
		want bool
	}{{cmd.Process.Pid, "// ours, and more", true}, {cmd.Process.Pid, "// ou", true}, {cmd.Process.Pid, "theirs", false},
		{os.Getppid(), "// ours", false}} {
		path := write(t, name(c.pid), c.text)
		if got := Leftover(path, ".x_", []byte("// ours")); got != c.want {
			t.Errorf("%q of process %d: %t", c.text, c.pid, got)
		}
	}
}

func TestCreateTemp_isKnownAsOurs(t *testing.T) {
	file, err := CreateTemp(t.TempDir(), ".x_")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if n := strings.Count(filepath.Base(file.Name()), "_"); n != 3 {
		t.Errorf("the name is %s", file.Name())
	}
	if Leftover(file.Name(), ".x_", nil) {
		t.Error("it is taken for one of a killed run")
	}
}

func TestCheckTags(t *testing.T) {
	for list, ok := range map[string]bool{"": true, "a,b_1.2": true, "a b": true, "!x": false, "a,b&&c": false, "-x": false} {
		if err := CheckTags(list); (err == nil) != ok {
			t.Errorf("%q: %v", list, err)
		}
	}
}
