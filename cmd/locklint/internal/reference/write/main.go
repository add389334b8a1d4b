// Write writes the reference document of the checks to the file that it is given. go generate runs it.
package main

import (
	"fmt"
	"os"

	"github.com/lockgen/lockgen/cmd/locklint/internal/reference"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: write FILE")
		os.Exit(2)
	}
	if err := os.WriteFile(os.Args[1], []byte(reference.Document()), 0o666); err != nil {
		fmt.Fprintf(os.Stderr, "cannot write the reference of the checks: %v\n", err)
		os.Exit(1)
	}
}
