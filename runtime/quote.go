package lockrt

import (
	"fmt"
	"unicode/utf8"
)

// maxQuoted is how many bytes of a key stand in errors. A key may be wrong because it is huge.
const maxQuoted = 100

// quote writes a key for an error's text.
func quote(key string) string {
	if len(key) <= maxQuoted {
		return fmt.Sprintf("%q", key)
	}
	end := maxQuoted
	for end > 0 && !utf8.RuneStart(key[end]) {
		end--
	}
	return fmt.Sprintf("%q… (%d bytes)", key[:end], len(key))
}
