//go:build unix

package gen

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestCommit_fullDisk: the file size limit of a process cuts a write off as a full disk does. The old file stays, and
// nothing else.
func TestCommit_fullDisk(t *testing.T) {
	if dir := os.Getenv("LOCKGEN_TEST_FULL"); dir != "" {
		commitBeyondLimit(t, dir)
		return
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "lock_gen.go")
	write(t, path, "old", 0o644)
	cmd := exec.Command(os.Args[0], "-test.run=^TestCommit_fullDisk$", "-test.v")
	cmd.Env = append(os.Environ(), "LOCKGEN_TEST_FULL="+dir)
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS") {
		t.Fatalf("%v\n%s", err, out)
	}
	if text, _ := read(t, path); text != "old" {
		t.Errorf("the old file holds %d bytes", len(text))
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 1 {
		t.Errorf("left behind: %v", entries)
	}
}

func commitBeyondLimit(t *testing.T, dir string) {
	signal.Ignore(syscall.SIGXFSZ)
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 4096, Max: 4096}); err != nil {
		t.Skip(err)
	}
	path := filepath.Join(dir, "lock_gen.go")
	done, err := Commit([]File{{Path: path, Want: make([]byte, 1<<20), Have: []byte("old")}})
	if !errors.Is(err, syscall.EFBIG) || len(done) != 0 || !strings.Contains(err.Error(), path) {
		t.Errorf("%d files written, error %v", len(done), err)
	}
}

// TestCommit_readOnlyFolder needs a user whom permissions stop.
func TestCommit_readOnlyFolder(t *testing.T) {
	if os.Getenv("LOCKGEN_TEST_READONLY") == "" && os.Geteuid() == 0 {
		asNobody(t)
		return
	}
	dir := os.Getenv("LOCKGEN_TEST_READONLY")
	if dir == "" {
		dir = t.TempDir()
		write(t, filepath.Join(dir, "lock_gen.go"), "old", 0o644)
		if err := os.Chmod(dir, 0o555); err != nil {
			t.Fatal(err)
		}
		defer os.Chmod(dir, 0o755)
	}
	path := filepath.Join(dir, "lock_gen.go")
	done, err := Commit([]File{{Path: path, Want: []byte("new"), Have: []byte("old")}})
	if !errors.Is(err, os.ErrPermission) || len(done) != 0 || !strings.Contains(err.Error(), path) {
		t.Errorf("%d files written, error %v", len(done), err)
	}
	if text, _ := read(t, path); text != "old" {
		t.Errorf("the old file holds %q", text)
	}
}

// asNobody runs the test again without root's privileges.
func asNobody(t *testing.T) {
	// Not in TMPDIR: that may lie in a folder that is root's alone.
	dir, err := os.MkdirTemp("/tmp", "lockgen")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	write(t, filepath.Join(dir, "lock_gen.go"), "old", 0o644)
	binary, err := os.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "test")
	if err := os.WriteFile(program, binary, 0o755); err != nil { // the original is in a folder that is root's alone
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o555); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "-test.run=^TestCommit_readOnlyFolder$", "-test.v")
	cmd.Dir, cmd.Env = "/", append(os.Environ(), "LOCKGEN_TEST_READONLY="+dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS") {
		t.Fatalf("%v\n%s", err, out)
	}
}

// TestGenerate_twoAtOnce: runs that overlap leave whole files and nothing else. Each may find the other's work.
func TestGenerate_twoAtOnce(t *testing.T) {
	const runs = 8
	files := map[string]string{}
	for _, name := range []string{"a", "b", "c", "d"} {
		files[name+"/"+name+".go"] = "package " + name + "\n\n//lock:key=" + name +
			":{x},ttl=1s\nfunc runLocked(x string) {}\n"
	}
	dir := writeModule(t, files)
	want := generate(t, dir, false)
	start, errs := make(chan struct{}), make(chan error)
	for range runs {
		go func() {
			<-start
			for range 20 {
				result, err := Generate(context.Background(), Config{Dir: dir, Patterns: []string{"./..."}, Env: os.Environ()})
				if err == nil {
					_, err = Commit(result.Files)
				}
				if err == nil {
					err = os.Remove(filepath.Join(dir, "a", "lock_gen.go"))
				}
				if err != nil && !errors.Is(err, os.ErrNotExist) {
					errs <- err
					return
				}
			}
			errs <- nil
		}()
	}
	close(start)
	for range runs {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	if _, err := Commit(generate(t, dir, false).Files); err != nil {
		t.Fatal(err)
	}
	for _, f := range want.Files {
		if text, _ := read(t, f.Path); text != string(f.Want) {
			t.Errorf("%s holds\n%s", f.Path, text)
		}
		if entries, _ := os.ReadDir(filepath.Dir(f.Path)); len(entries) != 2 {
			t.Errorf("left behind: %v", entries)
		}
	}
}
