// Package testmodule makes modules for tests that run the go command on code which uses this project: they take it from
// its sources. What they need of other modules is downloaded before the first is made, so that the go command needs no
// network in them.
package testmodule

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
)

const project = "github.com/lockgen/lockgen"

// Init makes a folder the root of a module that requires all that this project requires, and the project itself. The
// first call downloads what is not in the module cache.
func Init(dir, module string) error {
	return errors.Join(Download(), initModule(dir, module))
}

// Download brings what such a module needs into the module cache, once. A workspace reads more go.mod files than a
// module: it has to look at the whole graph.
var Download = sync.OnceValue(func() error {
	dir, err := os.MkdirTemp("", "testmodule-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := initModule(dir, "example.com/download"); err != nil {
		return err
	}
	for _, args := range [][]string{{"mod", "download"}, {"work", "init", "."}, {"list", "-m", "all"}} {
		cmd := exec.Command("go", args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GOWORK=")
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("testmodule: go %s: %w: %s", strings.Join(args, " "), err, out)
		}
	}
	return nil
})

func initModule(dir, module string) error {
	root, err := projectRoot()
	if err != nil {
		return err
	}
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		return err
	}
	sum, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil {
		return err
	}
	_, requires, _ := bytes.Cut(mod, []byte("\n"))
	text := fmt.Appendf(nil, "module %s\n%s\nrequire %s v0.0.0\n\nreplace %s => %s\n", module, requires, project, project, root)
	return errors.Join(
		os.WriteFile(filepath.Join(dir, "go.mod"), text, 0o666),
		os.WriteFile(filepath.Join(dir, "go.sum"), sum, 0o666),
	)
}

// projectRoot is the folder of the project that the test belongs to.
func projectRoot() (string, error) {
	start, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for dir := start; ; dir = filepath.Dir(dir) {
		mod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && bytes.HasPrefix(mod, []byte("module "+project+"\n")) {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("no folder above %s holds the module %s: run the test inside the project", start, project)
		}
	}
}
