// Package ll3004 is the check LL3004; see doc.md.
package ll3004

import (
	_ "embed"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/check"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/clients"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/transactions"
)

//go:embed doc.md
var page string

// Check is LL3004.
var Check = check.New(check.Spec{Page: page, Severity: check.Error,
	Run: func(r *check.Reporter) { transactions.Check(r, clients.IsPeer) }})
