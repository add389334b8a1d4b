// Package ll3003 is the check LL3003; see doc.md.
package ll3003

import (
	_ "embed"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/check"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/clients"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/leaks"
)

//go:embed doc.md
var page string

// Check is LL3003.
var Check = check.New(check.Spec{Page: page, Severity: check.Error, Run: func(r *check.Reporter) {
	leaks.Check(r, clients.IsPeer)
	reportByHand(r)
}})
