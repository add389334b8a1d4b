// Command testreport reads the output of "go test -json" and prints what a
// person needs: a line per package, everything a failed test said, and every
// skipped test with its reason, so that a green run cannot hide what did not run.
//
//	go test -json ./... | go run ./internal/testenv/testreport
//
// It exits 1 if a test or a build failed, and 2 if there was nothing to read or
// it was not that output.
package main

import (
	"fmt"
	"os"
)

func main() {
	r, err := read(os.Stdin, os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "testreport:", err)
		os.Exit(2)
	}
	r.summarize(os.Stdout)
	if r.failed() {
		os.Exit(1)
	}
}
