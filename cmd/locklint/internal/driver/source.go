package driver

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/lockgen/lockgen/cmd/internal/files"
)

// sourceRoot is the folder below which sources are read and written: the module's, or the workspace's.
func sourceRoot() string {
	dir, err := os.Getwd()
	if err != nil {
		return "."
	}
	return files.ModuleRoot(dir)
}

// sourceLines are the lines of a Go file. The name may come from a //line comment, which can name anything: what is no
// source of the module is not opened.
func sourceLines(name string) []string {
	if filepath.Ext(name) != ".go" {
		return nil
	}
	text, err := files.ReadBelow(sourceRoot(), name)
	if err != nil {
		return nil
	}
	return strings.Split(string(text), "\n")
}
