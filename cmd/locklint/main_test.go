package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/lockgen/lockgen/internal/testmodule"
)

// binary is the command under test, built once: go vet wants a program, and its name tells it apart from the tests'.
var binary string

func TestMain(m *testing.M) {
	os.Exit(build(m))
}

func build(m *testing.M) int {
	dir, err := os.MkdirTemp("", "locklint")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "locklint.exe")
	if out, err := exec.Command("go", "build", "-o", binary, ".").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "cannot build locklint: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

// TestScripts runs the scripts in testdata. Each works in a module of its own that uses this repository and the real
// go-redis, from the module cache.
func TestScripts(t *testing.T) {
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err := errors.Join(err, testmodule.Download()); err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata",
		RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("LOCKLINT", binary)
			env.Setenv("GOFLAGS", "-mod=mod")
			env.Setenv("GOPROXY", "off")
			env.Setenv("GOWORK", "off")
			for _, name := range []string{"GOCACHE", "GOMODCACHE", "GOTOOLCHAIN"} {
				out, err := exec.Command("go", "env", name).Output()
				if err != nil {
					return err
				}
				env.Setenv(name, string(bytes.TrimSpace(out)))
			}
			return writeModule(env.WorkDir, root)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"samefindings": sameFindings,
			"exitcode":     exitCode,
		},
	})
}

// writeModule makes the working directory a module with this repository's requirements.
func writeModule(dir, root string) error {
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		return err
	}
	_, rest, _ := bytes.Cut(mod, []byte("\n"))
	text := fmt.Sprintf("module example.com/shop\n%s\nrequire github.com/lockgen/lockgen v0.0.0\n\n"+
		"replace github.com/lockgen/lockgen => %s\n", rest, root)
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte(text), 0o666); err != nil {
		return err
	}
	sum, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "go.sum"), sum, 0o666)
}

var findingLine = regexp.MustCompile(`^(.+\.go):(\d+:\d+): (.*)$`)

// sameFindings compares the findings in two files, whatever their order and the go command's own lines between them.
func sameFindings(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 || neg {
		ts.Fatalf("usage: samefindings file file")
	}
	a, b := findingsIn(ts.ReadFile(args[0])), findingsIn(ts.ReadFile(args[1]))
	if len(a) == 0 {
		ts.Fatalf("%s holds no findings", args[0])
	}
	if !slices.Equal(a, b) {
		ts.Fatalf("the findings differ\n%s:\n%s\n%s:\n%s",
			args[0], strings.Join(a, "\n"), args[1], strings.Join(b, "\n"))
	}
}

func findingsIn(text string) []string {
	var list []string
	for line := range strings.Lines(text) {
		if m := findingLine.FindStringSubmatch(strings.TrimRight(line, "\n")); m != nil {
			list = append(list, filepath.ToSlash(filepath.Clean(m[1]))+":"+m[2]+": "+m[3])
		}
	}
	slices.Sort(list)
	return list
}

// exitCode runs a program and checks how it exits; stdout and stderr can be asked about afterwards.
func exitCode(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 2 || neg {
		ts.Fatalf("usage: exitcode code program [args...]")
	}
	err := ts.Exec(args[1], args[2:]...)
	got := 0
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		got = exit.ExitCode()
	} else if err != nil {
		ts.Fatalf("cannot run %s: %v", args[1], err)
	}
	if fmt.Sprint(got) != args[0] {
		ts.Fatalf("%s exits with %d, want %s", args[1], got, args[0])
	}
}
