package keyexpr

import (
	"regexp"
	"slices"
)

// makers make something that nobody else has: the random kinds of the libraries of unique names.
var makers = regexp.MustCompile(`(^|/)(uuid|go-uuid|go\.uuid|xid|ksuid|ulid)(\.v\d+|/v\d+)?\.` +
	`(New|NewString|NewRandom|NewUUID|NewV[1467]|Make|GenerateUUID)(#0)?$|^crypto/rand\.Text$`)

// texts only write down what they are given.
var texts = regexp.MustCompile(`^fmt\.Sprintf?$|^strings\.(ToLower|ToUpper|ReplaceAll|Replace)$|\.(String|Must)(#0)?$`)

// Fresh reports whether the expression has a part that its function has just made and that nobody else can have, such
// as a UUID: no two processes meet at such a key.
func (k Expr) Fresh() bool {
	switch {
	case k.Op == Call && makers.MatchString(k.Text):
		return true
	case k.Op == Concat, k.Op == Call && texts.MatchString(k.Text):
		return slices.ContainsFunc(k.Args, Expr.Fresh)
	}
	return false
}
