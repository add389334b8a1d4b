// Write writes the document on precision to the file that it is given, from the tables in testdata/precision. go
// generate runs it.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/lockgen/lockgen/cmd/locklint/internal/precision"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: write FILE")
		os.Exit(2)
	}
	if err := write(os.Args[1]); err != nil {
		fmt.Fprintf(os.Stderr, "cannot write the document on precision: %v\n", err)
		os.Exit(1)
	}
}

func write(name string) error {
	dir := filepath.Join(filepath.Dir(name), "testdata", "precision")
	data, err := precision.Load(dir)
	if err != nil {
		return err
	}
	speed, err := os.ReadFile(filepath.Join(dir, "speed.md"))
	if err != nil {
		return err
	}
	return os.WriteFile(name, []byte(data.Document(string(speed))), 0o666)
}
