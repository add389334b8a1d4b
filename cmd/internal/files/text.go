package files

import (
	"bytes"
	"path/filepath"
	"strconv"
	"strings"
	"unicode"
)

var bom = []byte("\ufeff")

// Like returns text, which ends its lines with \n, with the line ends and the byte order mark of old. A version control
// system may have given old its line ends (core.autocrlf), and an editor the mark: neither is a difference to report.
func Like(text, old []byte) []byte {
	text = bytes.TrimPrefix(text, bom)
	if first := bytes.IndexByte(old, '\n'); first > 0 && old[first-1] == '\r' {
		text = bytes.ReplaceAll(text, []byte("\n"), []byte("\r\n"))
	}
	if bytes.HasPrefix(old, bom) {
		text = append(bytes.Clone(bom), text...)
	}
	return text
}

// TrimMark returns text without a byte order mark.
func TrimMark(text []byte) []byte { return bytes.TrimPrefix(text, bom) }

// Name is a file's name as it is printed: quoted if it holds what a terminal or a log would act on, such as the newline
// before a workflow command.
func Name(path string) string {
	if strings.IndexFunc(path, func(r rune) bool { return !unicode.IsPrint(r) || r == unicode.ReplacementChar }) < 0 {
		return path
	}
	return strconv.Quote(path)
}

// Relative is a file's name as seen from a folder, unless it lies outside of it.
func Relative(dir, path string) string {
	if !filepath.IsAbs(path) {
		return path
	}
	if rel, err := filepath.Rel(dir, path); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return path
}

// Plain is a message as it is printed: what a terminal or a log would act on, line ends aside, stands there as an escape.
func Plain(message string) string {
	var b strings.Builder
	for _, r := range message {
		if r == '\n' || r == '\t' || unicode.IsPrint(r) {
			b.WriteRune(r)
		} else {
			quoted := strconv.QuoteRune(r)
			b.WriteString(quoted[1 : len(quoted)-1])
		}
	}
	return b.String()
}
