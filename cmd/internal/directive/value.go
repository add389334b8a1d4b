package directive

import (
	"errors"
	"go/token"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A value is the unquoted text of an argument, with the way back to where each byte of it was written.
type value struct {
	text string
	base token.Pos
	// at has an entry for every byte of text and one for its end: offsets from base. Nil where text stands as it is.
	at []int
}

// pos is where the byte at an offset of the text was written.
func (v value) pos(offset int) token.Pos {
	if v.at != nil {
		offset = v.at[offset]
	}
	return v.base + token.Pos(offset)
}

// unquote reads a bare value, "…" or `…` that starts at base. The scanner has seen the closing quote.
func unquote(written string, base token.Pos) (value, error) {
	switch {
	case written == "" || written[0] != '"' && written[0] != '`':
		return value{text: written, base: base}, nil
	case written[0] == '`':
		return value{text: written[1 : len(written)-1], base: base + 1}, nil
	}
	return unescape(written[1:len(written)-1], base+1)
}

// unescape undoes the escapes of a Go string one by one: strconv.Unquote would forget where each stood.
func unescape(written string, base token.Pos) (value, error) {
	v := value{base: base, at: make([]int, 0, len(written)+1)}
	var b strings.Builder
	for rest := written; rest != ""; {
		here := len(written) - len(rest)
		r, multibyte, tail, err := strconv.UnquoteChar(rest, '"')
		if err != nil {
			return value{}, errors.New("it is no Go string: " + strconv.Quote(firstEscape(rest)) + " is no escape")
		}
		if r < utf8.RuneSelf || !multibyte {
			b.WriteByte(byte(r))
		} else {
			b.WriteRune(r)
		}
		for len(v.at) < b.Len() {
			v.at = append(v.at, here)
		}
		rest = tail
	}
	v.text, v.at = b.String(), append(v.at, len(written))
	return v, nil
}

func firstEscape(s string) string {
	return s[:min(2, len(s))]
}

// Text in a message is cut after this many characters.
const shownLen = 60

// shown is text for a message, quoted and cut.
func shown(text string) string {
	if utf8.RuneCountInString(text) > shownLen {
		text = string([]rune(text)[:shownLen]) + "…"
	}
	return strconv.Quote(text)
}

// shownASCII is shown for text whose characters do not all show.
func shownASCII(text string) string {
	text, _ = strconv.Unquote(shown(text)) // what it has quoted is a Go string
	return strconv.QuoteToASCII(text)
}

// constRef reads @Const or @pkg.Const.
func constRef(written string, base token.Pos) (*ConstRef, bool) {
	c := &ConstRef{Pos: base, End: base + token.Pos(len(written)), Name: written[1:]}
	if pkg, name, ok := strings.Cut(c.Name, "."); ok {
		c.Pkg, c.Name = pkg, name
		if !usableIdent(pkg) {
			return nil, false
		}
	}
	return c, usableIdent(c.Name)
}

// usableIdent reports whether an expression can name s: an identifier that is neither a keyword nor blank.
func usableIdent(s string) bool { return token.IsIdentifier(s) && s != "_" }
