// Package ll3009 is the check LL3009; see doc.md.
package ll3009

import (
	_ "embed"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/check"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/clients"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/leaks"
)

//go:embed doc.md
var page string

// Check is LL3009.
var Check = check.New(check.Spec{Page: page, Severity: check.Error, Off: true, Run: func(r *check.Reporter) {
	leaks.Check(r, clients.IsCoordinator)
}})
