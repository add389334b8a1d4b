package files

import (
	"fmt"
	"strings"
	"unicode"
)

// CheckTags reports a list of build tags that the go command would take without a word and that no file can match. It is
// split at commas and blanks, as the go command does.
func CheckTags(list string) error {
	for _, tag := range strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' }) {
		if strings.IndexFunc(tag, func(r rune) bool {
			return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' && r != '.'
		}) >= 0 {
			return fmt.Errorf("-tags: %q is no build tag: name the tags that hold, separated by commas; those not named do not hold",
				tag)
		}
	}
	return nil
}
