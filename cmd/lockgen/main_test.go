package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/lockgen/lockgen/cmd/internal/directive"
	"github.com/lockgen/lockgen/internal/testmodule"
)

var update = flag.Bool("update", false, "rewrite the goldens of the scripts")

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"lockgen": main})
}

// TestScripts generates real modules, compares what is written, compiles it and runs it.
func TestScripts(t *testing.T) { testscript.Run(t, params(t, "testdata")) }

// TestErrors runs one bad program for every kind of message. Each must fail, say where, and write nothing.
func TestErrors(t *testing.T) { testscript.Run(t, params(t, "testdata/errors")) }

// TestErrors_everyKind: a kind of message without a bad program is a message that nobody has read.
func TestErrors_everyKind(t *testing.T) {
	own := []string{"go-version", "syntax", "cgo", "types", "scope", "jobs", "foreign", "unbuilt", "load", "pattern"}
	for _, kind := range append(own, directive.Slugs()...) {
		matches, err := filepath.Glob("testdata/errors/" + kind + "*.txtar")
		if err != nil || len(matches) == 0 {
			t.Errorf("no testdata/errors/%s.txtar", kind)
		}
	}
}

func params(t *testing.T, dir string) testscript.Params {
	return testscript.Params{
		Dir:           dir,
		UpdateScripts: *update,
		Setup:         setup,
		Condition: func(cond string) (bool, error) {
			if cond == "tinydisk" {
				return canMount(), nil
			}
			return false, fmt.Errorf("unknown condition %s", cond)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"tinydisk":        tinydisk,
			"readonly":        readonly,
			"fill":            fill,
			"exits":           exits,
			"nothing-written": nothingWritten,
			"snapshot":        snapshot,
			"untouched":       untouched,
			"mark":            mark,
			"leftovers":       leftovers,
			"badname":         badName,
		},
	}
}

// setup makes the script's folder a module that depends on this one, with the versions that this one has, so that it
// builds without a network.
func setup(env *testscript.Env) error {
	repo, err := filepath.Abs("../..")
	if err != nil {
		return err
	}
	values, err := goEnv()
	if err != nil {
		return fmt.Errorf("go env: %w", err)
	}
	for name, value := range values {
		env.Setenv(name, value)
	}
	env.Setenv("REPO", repo)
	env.Setenv("GOFLAGS", "-mod=mod")
	env.Setenv("GOPROXY", "off")
	env.Setenv("GOTOOLCHAIN", "local")
	return initModule(env.WorkDir)
}

// initModule makes a folder the module example.com/app, in which lockgen is a tool.
func initModule(dir string) error {
	if err := testmodule.Init(dir, "example.com/app"); err != nil {
		return err
	}
	mod, err := os.OpenFile(filepath.Join(dir, "go.mod"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = mod.WriteString("\ntool github.com/lockgen/lockgen/cmd/lockgen\n")
	return errors.Join(err, mod.Close())
}

// goEnv is what scripts need to know of the environment of this test: they have a home of their own.
var goEnv = sync.OnceValues(func() (map[string]string, error) {
	out, err := exec.Command("go", "env", "-json", "GOCACHE", "GOMODCACHE", "GOROOT", "GOPATH").Output()
	values := map[string]string{}
	return values, errors.Join(err, json.Unmarshal(out, &values))
})

// exits runs a command and fails unless it ends with the given exit code.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: exits code command [args]")
	}
	code := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%v", err)
		}
		code = exit.ExitCode()
	}
	if strings.Contains(ts.ReadFile("stderr"), "goroutine ") { // a crash ends with 2 as well
		ts.Fatalf("crashed")
	}
	if strconv.Itoa(code) != args[0] {
		ts.Fatalf("exit code %d, want %s", code, args[0])
	}
}

// outputs lists the generated files below the script's folder.
func outputs(ts *testscript.TestScript) []string {
	var found []string
	ts.Check(filepath.WalkDir(ts.Getenv("WORK"), func(path string, entry fs.DirEntry, err error) error {
		name := filepath.Base(path)
		if strings.HasPrefix(name, "lock_") && strings.Contains(name, "gen") || strings.HasPrefix(name, ".lock_gen") {
			found = append(found, path)
		}
		return err
	}))
	return found
}

// nothingWritten fails if there is a generated file, or the remains of one, anywhere.
func nothingWritten(ts *testscript.TestScript, neg bool, args []string) {
	if found := outputs(ts); len(found) > 0 {
		ts.Fatalf("written: %s", strings.Join(found, " "))
	}
}

// snapshot remembers the generated files: text, time and identity.
func snapshot(ts *testscript.TestScript, neg bool, args []string) {
	ts.Check(os.WriteFile(ts.MkAbs("snapshot.txt"), []byte(states(ts)), 0o644))
}

// untouched fails if a generated file was written since the snapshot, even with the same text.
func untouched(ts *testscript.TestScript, neg bool, args []string) {
	before := ts.ReadFile("snapshot.txt")
	if after := states(ts); (after == before) == neg {
		ts.Fatalf("before:\n%safter:\n%s", before, after)
	}
}

func states(ts *testscript.TestScript) string {
	var b strings.Builder
	for _, path := range outputs(ts) {
		info, err := os.Stat(path)
		ts.Check(err)
		fmt.Fprintf(&b, "%s %s %d %s %v\n", path, info.Mode(), info.Size(), info.ModTime(), info.Sys())
	}
	return b.String()
}
