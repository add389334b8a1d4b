package directive

import "strings"

// Collide decides whether keys of two functions can be the same text although the functions do not share it on purpose, and gives an
// example. It is meant where both functions say shared=, where both keys name the same constant, and where they have the
// same template with values of the same types and leases of the same lengths. How long to wait for a lock, and whether it
// may be held already, is each caller's business.
func Collide(a, b Pattern) (example string, ok bool) {
	x, y := a.prefix(), b.prefix()
	switch {
	case !strings.HasPrefix(x, y) && !strings.HasPrefix(y, x):
		return "", false
	case a.Shared && b.Shared:
		return "", false
	case a.sameKey(&b) && a.Lease == b.Lease:
		return "", false
	}
	return Overlap(a, b)
}
