package sqlstore

import (
	"crypto/sha256"
	"strings"
	"unicode/utf8"
)

const (
	// plainName is how long a name may be that stands in the table as it is: engines limit what an index holds.
	plainName = 512
	// hashedPrefix is how much of a longer one does, before the hash. Both together are longer than any plain name, so
	// that no key can be made to look like another's hash.
	hashedPrefix = plainName - sha256.Size
)

// rowName is the primary key of a lock's row.
func rowName(namespace, key string) []byte {
	name := namespace + "\x00" + key
	if len(name) <= plainName {
		return []byte(name)
	}
	sum := sha256.Sum256([]byte(name))
	return append([]byte(name[:hashedPrefix]+"\x00"), sum[:]...)
}

// nameRange returns the bounds of the names whose keys may begin with prefix: from the first, below the second.
func nameRange(namespace, prefix string) (from, below []byte) {
	text := namespace + "\x00" + prefix
	if len(text) > hashedPrefix {
		text = text[:hashedPrefix]
	}
	from, below = []byte(text), []byte(text)
	for last := len(below) - 1; last >= 0; last-- {
		if below[last] < 0xff {
			below[last]++
			return from, below[:last+1]
		}
	}
	return from, nil // never: the namespace is text, and so holds no 0xff
}

// shown makes a text that people read fit for every column: valid UTF-8 without line breaks and NUL, and not too long.
func shown(text string, most int) string {
	text = strings.Map(func(r rune) rune {
		if r < ' ' {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
	for len(text) > most {
		_, size := utf8.DecodeLastRuneInString(text)
		text = text[:len(text)-size]
	}
	return text
}
