package directive

import (
	"go/token"
	"strings"
	"unicode"
	"unicode/utf8"
)

// parseTemplate reads a key template from unquoted text; pos and end are those of the value as written.
func parseTemplate(v value, pos, end token.Pos) (*Template, problems) {
	p := &templateParser{v: v, t: &Template{Pos: pos, End: end}}
	p.parts()
	p.whole()
	return p.t, p.problems
}

type templateParser struct {
	v    value
	t    *Template
	text strings.Builder // the literal being read
	from int             // where it starts
	problems
}

func (p *templateParser) report(from, to int, slug, format string, args ...any) *Problem {
	return p.add(p.v.pos(from), p.v.pos(to), slug, format, args...)
}

// parts cuts the text into literals and placeholders. A doubled brace is a literal one wherever it stands, so that
// {{{id}}} is the placeholder in literal braces: a hash tag of Redis Cluster.
func (p *templateParser) parts() {
	s := p.v.text
	for i := 0; i < len(s); {
		switch {
		case strings.HasPrefix(s[i:], "{{"), strings.HasPrefix(s[i:], "}}"):
			p.text.WriteByte(s[i])
			i += 2
		case s[i] == '}':
			p.report(i, i+1, "brace", `the "}" closes nothing: write "}}" for a brace in the text of the key`).write("}}")
			i++
		case s[i] == '{':
			p.flush(i)
			i = p.placeholder(i)
			p.from = i
		default:
			i += p.literal(i)
		}
	}
	p.flush(len(s))
}

// literal reads one character of text.
func (p *templateParser) literal(i int) int {
	r, size := utf8.DecodeRuneInString(p.v.text[i:])
	if (r == utf8.RuneError && size == 1) || invisible(r) {
		p.report(i, i+size, "character", "the key's text holds the character %+q, which no log or tool shows: delete it",
			p.v.text[i:i+size])
	}
	p.text.WriteString(p.v.text[i : i+size])
	return size
}

// flush ends the literal before offset i.
func (p *templateParser) flush(i int) {
	if p.text.Len() > 0 {
		p.t.Parts = append(p.t.Parts, &Text{Pos: p.v.pos(p.from), End: p.v.pos(i), Value: p.text.String()})
		p.text.Reset()
	}
}

// placeholder reads from the brace at offset i and returns the offset behind it.
func (p *templateParser) placeholder(i int) int {
	inner := p.v.text[i+1:]
	end := strings.IndexAny(inner, "{}")
	if end < 0 || inner[end] == '{' {
		if end < 0 {
			end = len(inner)
		}
		what := inner[:identLen(inner[:end])]
		problem := p.report(i, i+1, "brace",
			`the "{" is never closed: write "}" after the name, or "{{" for a brace in the text of the key`)
		if what != "" && end == len(what) {
			at := p.v.pos(i + 1 + end)
			problem.replace(at, at, "}")
		}
		// What follows is not read as text: it would be checked against the placeholder that it was meant for.
		return i + 1 + end
	}
	h := &holeParser{templateParser: p, at: i + 1, end: i + 1 + end,
		hole: &Placeholder{Pos: p.v.pos(i), End: p.v.pos(i + end + 2)}}
	if h.parse() {
		p.t.Parts = append(p.t.Parts, h.hole)
	}
	return i + end + 2
}

// identLen is the length of the dotted name at the start of s.
func identLen(s string) int {
	if i := strings.IndexFunc(s, func(r rune) bool {
		return r != '_' && r != '.' && !unicode.IsLetter(r) &&
			!unicode.IsDigit(r)
	}); i >= 0 {
		return i
	}
	return len(s)
}

// whole checks what needs no types: two placeholders side by side, and keys that are or may become empty.
func (p *templateParser) whole() {
	if p.v.text == "" {
		p.add(p.t.Pos, p.t.End, "key-empty",
			"the key is empty: write a text that names what is locked, such as key=order:{id}")
		return
	}
	filled := false
	for i, part := range p.t.Parts {
		hole, ok := part.(*Placeholder)
		filled = filled || !ok || !hole.Optional
		if i == 0 || !ok {
			continue
		}
		if before, ok := p.t.Parts[i-1].(*Placeholder); ok && before.End == hole.Pos {
			p.add(before.Pos, hole.End, "collision",
				`nothing separates %s from %s, so "1" and "23" give the same key as "12" and "3": write a character between `+
					`them, such as %s:%s`, before, hole, before, hole)
		}
	}
	if !filled && len(p.problems) == 0 {
		p.add(p.t.Pos, p.t.End, "key-empty",
			"every value of this key is optional, so the key may be empty: write text around them, such as %s",
			shown("cache:"+p.t.String()))
	}
}
