// Command servetree serves this tree as a released version to the go command, without a network:
//
//	eval "$(go run ./internal/testmodule/servetree DIR VERSION)"
//
// It writes a module proxy to DIR, and prints the environment that makes the go command use it, for a shell.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/lockgen/lockgen/internal/testmodule"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: servetree DIR VERSION (in the root of the tree to serve)")
		os.Exit(2)
	}
	if err := serve(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "servetree:", err)
		os.Exit(1)
	}
}

func serve(dir, version string) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	env, err := testmodule.ServeTree(dir, ".", version)
	if err != nil {
		return err
	}
	for _, entry := range env {
		name, value, _ := strings.Cut(entry, "=")
		fmt.Printf("export %s='%s'\n", name, strings.ReplaceAll(value, "'", `'\''`))
	}
	return nil
}
