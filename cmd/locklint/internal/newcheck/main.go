// Newcheck starts a check: its folder with code, page and testdata, to be filled in. Without an ID it only writes the
// list of the checks anew.
//
//	go run ./cmd/locklint/internal/newcheck LL4005 "what it finds, a few words"
package main

import (
	"fmt"
	"os"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "newcheck: %v\n", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	root, err := checksDir()
	if err != nil {
		return err
	}
	switch len(args) {
	case 0:
	case 2:
		if err := start(root, args[0], args[1]); err != nil {
			return err
		}
	default:
		return fmt.Errorf("%d arguments; give the ID and the title of the new check, or nothing", len(args))
	}
	return writeList(root)
}
