package lockrt

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// BuildKey joins the parts of a lock key. Generated wrappers call it with one part per literal and placeholder of their
// template:
//
//	key, err := lockrt.BuildKey(lockrt.KeyText("order:"), lockrt.KeyInt("userID", userID))
//
// Literals stand in the key as written. Every byte of a value outside [A-Za-z0-9._~-] is percent-encoded, so a value
// can neither contain the literal that follows it (the generator refuses templates where it could) nor a Redis hash
// tag: for one template, two calls give equal keys only for equal values.
//
// A nil or empty value is an error, unless the part is [KeyPart.Optional]. The error wraps [ErrKey] and names the
// template and the placeholder. BuildKey never blocks.
func BuildKey(parts ...KeyPart) (string, error) {
	var short [96]byte // most keys fit, so that the string is the only allocation
	buf := short[:0]
	for i := range parts {
		part := &parts[i]
		if reason := part.refuses(); reason != "" {
			return "", keyError(parts, part, reason)
		}
		buf = part.append(buf)
	}
	if len(buf) == 0 {
		return "", fmt.Errorf("%w: template %q gives an empty key: add a literal, or drop the ? of a placeholder",
			ErrKey, template(parts))
	}
	return string(buf), nil
}

// refuses says why the part cannot stand in a key; "" means that it can.
func (p *KeyPart) refuses() string {
	switch {
	case p.err != nil:
		return "cannot be turned into text"
	case p.kind == partNil && !p.optional:
		return "is nil, or a pointer on the way to it is"
	case p.kind == partString && p.text == "" && !p.optional:
		return "is empty"
	}
	return ""
}

func keyError(parts []KeyPart, part *KeyPart, reason string) error {
	if part.err != nil {
		return fmt.Errorf("%w: template %q: %s %s: %w", ErrKey, template(parts), part, reason, part.err)
	}
	optional := part.Optional()
	return fmt.Errorf("%w: template %q: %s %s: pass a value, or write %s if it may be absent",
		ErrKey, template(parts), part, reason, &optional)
}

// template writes the parts the way they stood in the directive. Only errors need it.
func template(parts []KeyPart) string {
	var b strings.Builder
	for i := range parts {
		if p := &parts[i]; p.kind == partText {
			b.WriteString(strings.NewReplacer("{", "{{", "}", "}}").Replace(p.text))
		} else {
			b.WriteString(p.String())
		}
	}
	return b.String()
}

// String is the placeholder as it stood in the directive.
func (p *KeyPart) String() string {
	text := "{" + p.name
	if p.optional {
		text += "?"
	}
	if p.filter != "" {
		text += "|" + p.filter
	}
	return text + "}"
}

const upperHex = "0123456789ABCDEF"

// appendEscaped works byte by byte, so that strings that are not valid UTF-8 stay distinct as well.
func appendEscaped(buf []byte, text string) []byte {
	for i := range len(text) {
		c := text[i]
		if plain(c) {
			buf = append(buf, c)
		} else {
			buf = append(buf, '%', upperHex[c>>4], upperHex[c&15])
		}
	}
	return buf
}

func plain(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' ||
		c == '.' || c == '_' || c == '~' || c == '-'
}

// lower is strings.ToLower, except that invalid UTF-8 stays as it is: strings.ToLower turns every such byte into
// U+FFFD, which would give unequal values one key.
func lower(text string) string {
	if utf8.ValidString(text) {
		return strings.ToLower(text)
	}
	buf := make([]byte, 0, len(text))
	for len(text) > 0 {
		r, size := utf8.DecodeRuneInString(text)
		if r == utf8.RuneError && size == 1 {
			buf = append(buf, text[0])
		} else {
			buf = utf8.AppendRune(buf, unicode.ToLower(r))
		}
		text = text[size:]
	}
	return string(buf)
}

func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}
