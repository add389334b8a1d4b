package jobs

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// What records, pauses, notices, Err and the log keep of texts. What is longer is cut between two characters.
const (
	maxErrorText = 8 << 10 // of an error, a store's too, or a stack, and of a reason that a store gives
	maxAuthor    = 200
	maxReason    = 2 << 10 // of somebody who asks for something
)

// isText reports whether s keeps what it is in a record, and in a log, and is what it seems to be where it is shown:
// characters that only change how others are shown are none of it.
func isText(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsGraphic(r) })
}

// plain is s as one line of n bytes at most, with a replacement for each character that is no text; see isText.
func plain(s string, n int) string {
	return replaceOdd(cut(s, n), "")
}

// plainLines is plain for what may have several lines.
func plainLines(s string, n int) string {
	return replaceOdd(cut(s, n), "\n\t")
}

// replaceOdd replaces what is no text, unless it is among the characters to keep.
func replaceOdd(s, keep string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsGraphic(r), strings.ContainsRune(keep, r):
			return r
		case unicode.IsSpace(r):
			return ' '
		}
		return unicode.ReplacementChar
	}, s)
}

// cut shortens a text to n bytes, between two runes, and says so.
func cut(text string, n int) string {
	long := len(text) > n
	if long {
		for n > 0 && !utf8.RuneStart(text[n]) {
			n--
		}
		text = text[:n]
	}
	if text = strings.ToValidUTF8(text, "\uFFFD"); long {
		text += " … (cut)"
	}
	return text
}

// brief is a name as errors repeat it.
func brief(name string) string { return cut(name, maxName+len(HandlerPrefix)) }
