// Package ll3002 is the check LL3002; see doc.md.
package ll3002

import (
	_ "embed"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/check"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/clients"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/refusals"
)

//go:embed doc.md
var page string

// Check is LL3002.
var Check = check.New(check.Spec{Page: page, Severity: check.Warning, Run: func(r *check.Reporter) {
	refusals.Check(r, clients.IsPeer)
}})
