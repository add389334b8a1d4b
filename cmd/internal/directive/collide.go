package directive

import (
	"strconv"
	"strings"
)

// Collide decides whether keys of two functions can be the same text although the functions do not share it on purpose,
// and gives an example. It is meant where both functions say shared=, where both keys name the same constant, and where
// they have the same template with values of the same types and leases of the same lengths. A different number of
// permits is never meant. How long to wait for a lock, whether it may be held already, and whether it is held to read
// or to write, is each caller's business.
func Collide(a, b Pattern) (example string, ok bool) {
	x, y := a.prefix(), b.prefix()
	switch {
	case !strings.HasPrefix(x, y) && !strings.HasPrefix(y, x):
		return "", false
	case a.Permits != b.Permits:
	case a.Shared && b.Shared, a.sameKey(&b) && a.sameLease(&b):
		return "", false
	}
	return Overlap(a, b)
}

// Permits is a number of permits as messages say it.
func Permits(n int) string {
	if n == 0 {
		return "no permits"
	}
	return "permits=" + strconv.Itoa(n)
}
