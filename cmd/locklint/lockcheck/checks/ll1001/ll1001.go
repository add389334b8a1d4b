// Package ll1001 is the check LL1001; see doc.md.
package ll1001

import (
	_ "embed"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/check"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/clients"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/leaks"
)

//go:embed doc.md
var page string

// Check is LL1001.
var Check = check.New(check.Spec{Page: page, Severity: check.Error, Fixable: true, Run: func(r *check.Reporter) {
	leaks.Check(r, func(c clients.Client) bool { return c == clients.Runtime })
}})
