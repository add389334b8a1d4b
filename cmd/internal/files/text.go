package files

import (
	"bytes"
	"path/filepath"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
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
	if strings.IndexFunc(path, actedOn) < 0 {
		return path
	}
	return strconv.Quote(path)
}

// Names is Name of several, with blanks between them.
func Names(paths []string) string {
	all := make([]string, len(paths))
	for i, path := range paths {
		all[i] = Name(path)
	}
	return strings.Join(all, " ")
}

// Line is a message of one line as it is printed: what a terminal or a log would act on, a newline included, is escaped.
// Names in it that may hold such are better quoted with Name, so that their ends are seen.
func Line(text string) string {
	if strings.IndexFunc(text, actedOn) < 0 {
		return text
	}
	var b strings.Builder
	for len(text) > 0 {
		r, size := utf8.DecodeRuneInString(text)
		if actedOn(r) {
			quoted := strconv.Quote(text[:size])
			b.WriteString(quoted[1 : len(quoted)-1])
		} else {
			b.WriteString(text[:size])
		}
		text = text[size:]
	}
	return b.String()
}

// Lines is Line for text of several lines, such as what another command said. Tabs stay.
func Lines(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		for i, part := range strings.Split(strings.TrimRight(line, "\r\n"), "\t") {
			if i > 0 {
				b.WriteString("\t")
			}
			b.WriteString(Line(part))
		}
		if strings.HasSuffix(line, "\n") {
			b.WriteString("\n")
		}
	}
	return b.String()
}

func actedOn(r rune) bool { return !unicode.IsPrint(r) || r == unicode.ReplacementChar }

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
