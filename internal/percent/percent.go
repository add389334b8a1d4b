// Package percent writes bytes as text that people can read most of, for the names that stores give to locks.
package percent

import (
	"encoding/hex"
	"fmt"
	"strings"
)

// Plain are the bytes beside letters and digits that an escaped text holds as they are.
type Plain string

// Escape returns s with every other byte as %XX. It works byte by byte: the escaped form of a text begins with that of
// each of its prefixes, and different texts have different forms.
func (p Plain) Escape(s string) string {
	odd := 0
	for i := range len(s) {
		if !p.has(s[i]) {
			odd++
		}
	}
	if odd == 0 {
		return s
	}
	const digits = "0123456789ABCDEF"
	b := make([]byte, 0, len(s)+2*odd)
	for i := range len(s) {
		if c := s[i]; p.has(c) {
			b = append(b, c)
		} else {
			b = append(b, '%', digits[c>>4], digits[c&15])
		}
	}
	return string(b)
}

func (p Plain) has(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte(string(p), c) >= 0
}

// Unescape is the inverse of [Plain.Escape].
func Unescape(s string) (string, error) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '%' {
			b.WriteByte(s[i])
			continue
		}
		if i+2 >= len(s) {
			return "", fmt.Errorf("%q ends within an escape", s)
		}
		c, err := hex.DecodeString(s[i+1 : i+3])
		if err != nil {
			return "", fmt.Errorf("%q: %w", s, err)
		}
		b.WriteByte(c[0])
		i += 2
	}
	return b.String(), nil
}
