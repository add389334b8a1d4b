// Package ll3010 is the check LL3010; see doc.md.
package ll3010

import (
	_ "embed"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/check"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/clients"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/refusals"
)

//go:embed doc.md
var page string

// Check is LL3010.
var Check = check.New(check.Spec{Page: page, Severity: check.Warning, Off: true, Run: func(r *check.Reporter) {
	refusals.Check(r, clients.IsCoordinator)
}})
