// Locklint finds misuse of //lock: directives and leases, and hand-rolled Redis locks that fail. Run locklint -h.
package main

import (
	"os"

	"github.com/lockgen/lockgen/cmd/locklint/internal/driver"
)

//go:generate go run ./internal/reference/write CHECKS.md
//go:generate go run ./internal/precision/write PRECISION.md

func main() { os.Exit(driver.Main(os.Args[1:], os.Stdout, os.Stderr)) }
