package directive

import "strings"

// Collide decides whether keys of two functions can be the same text although nobody said that it is meant, and gives an
// example. It is meant where both functions say shared=, where both keys name the same constant, and where they have the
// same template with values of the same types and leases of the same lengths. How long to wait for a lock, and whether it
// may be held already, is each caller's business.
func Collide(a *Func, keyA *BoundKey, b *Func, keyB *BoundKey) (example string, ok bool) {
	x, y := keyA.Prefix(), keyB.Prefix()
	switch {
	case !strings.HasPrefix(x, y) && !strings.HasPrefix(y, x):
		return "", false
	case a.Directive.Shared != nil && b.Directive.Shared != nil:
		return "", false
	case sameKey(keyA, keyB) && sameLease(a.Directive, b.Directive):
		return "", false
	}
	return Overlap(keyA, keyB)
}

func sameLease(a, b *Directive) bool {
	length := func(d *Duration) string {
		if d == nil {
			return ""
		}
		return FormatDuration(d.Value)
	}
	return length(a.TTL) == length(b.TTL) && length(a.MaxHold) == length(b.MaxHold) &&
		length(a.MinHold) == length(b.MinHold) && a.Renews() == b.Renews()
}
