// Package testmodule makes modules for tests that run the go command on code which uses this project: they take it from
// its sources and need no network.
package testmodule

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

const project = "github.com/lockgen/lockgen"

// Init makes a folder the root of a module that requires all that this project requires, and the project itself.
func Init(dir, module string) error {
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
