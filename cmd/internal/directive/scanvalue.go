package directive

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// value reads what follows the = of an argument.
func (s *scanner) value(a *rawArg) {
	a.valueAt = s.at
	switch {
	case s.at == len(s.text) || s.text[s.at] == ',':
		a.form = formBroken
		s.report(a.start, s.at, "value-missing", "%s= has no value: write one, or delete the option", a.name)
	case s.text[s.at] == '"':
		s.quoted(a, '"')
	case s.text[s.at] == '`':
		s.quoted(a, '`')
	default:
		s.bare(a)
	}
}

func (s *scanner) quoted(a *rawArg, quote byte) {
	a.form = formQuoted
	for i := s.at + 1; i < len(s.text); i++ {
		switch {
		case s.text[i] == '\\' && quote == '"':
			i++
		case s.text[i] == quote:
			s.at = i + 1
			a.value = s.text[a.valueAt:s.at]
			return
		}
	}
	s.at += nextArg(s.text[s.at:])
	a.form = formBroken
	s.report(a.valueAt, s.at, "quote", "the quote of %s is never closed: write %c after the value", a.name, quote)
}

// bare reads an unquoted value. Where it breaks a rule the value is cut so that one slip is one problem: a brace that
// never closes ends at the next option, and white space belongs to the value unless an option follows.
func (s *scanner) bare(a *rawArg) {
	a.form = formBare
	rest := s.text[s.at:]
	end, open := bareEnd(rest)
	if open >= 0 {
		if cut := optionIn(rest[open:]); cut > 0 {
			end = open + cut
			p := s.report(s.at+open, s.at+open+1, "brace",
				`the "{" in %s is never closed, so the options after it would be part of the key: write "}" after the name (a `+
					`brace that is text belongs in quotes, doubled)`, a.name)
			s.closeAfter(p, s.at+open+1, s.at+end)
		}
	}
	if next := s.spaced(a, rest, end); next > end {
		end = next
	} else if end < len(rest) && (rest[end] == '"' || rest[end] == '`') {
		next = end + nextArg(rest[end:])
		s.report(s.at+end, s.at+next, "quote", "%s in the unquoted value of %s: quote the whole value or none of it",
			shown(rest[end:next]), a.name)
		end, a.form = next, formBroken
	}
	s.at += end
	a.value = rest[:end]
	s.single(a)
	// With white space inside it is text whose quotes were forgotten, such as @every 5m, and reported as that.
	if a.form == formBare && a.value[0] == '@' && strings.IndexFunc(a.value, unicode.IsSpace) < 0 {
		a.form = formConst
	}
}

// single reports a value in single quotes, which are no quotes here and would be part of it.
func (s *scanner) single(a *rawArg) {
	n := len(a.value)
	if a.form != formBare || n < 2 || a.value[0] != '\'' || a.value[n-1] != '\'' {
		return
	}
	quoted := strconv.Quote(a.value[1 : n-1])
	a.form = formBroken
	s.report(a.valueAt, a.valueAt+n, "quote", "the single quotes would be part of %s: write %s=%s", a.name, a.name,
		quoted).write(quoted)
}

// closeAfter offers to close a brace behind the name that starts at from, if nothing but a name is there.
func (s *scanner) closeAfter(p *Problem, from, to int) {
	if n := identLen(s.text[from:to]); n > 0 && (from+n == to || s.text[from+n] == '{') {
		p.replace(s.pos(from+n), s.pos(from+n), "}")
	}
}

// spaced reports white space in an unquoted value that ends at end so far and returns where the value was meant to end;
// end itself if the white space is none of the value's.
func (s *scanner) spaced(a *rawArg, rest string, end int) int {
	inside := strings.IndexFunc(rest[:end], unicode.IsSpace)
	meant := end
	if end < len(rest) && s.spaceAt(s.at+end) > 0 {
		after := strings.TrimLeftFunc(rest[end:], unicode.IsSpace)
		if !strings.HasPrefix(after, "//") && after[0] != ',' && !startsOption(after) {
			meant = end + nextArg(rest[end:])
			if inside < 0 {
				inside = end
			}
		}
	}
	if inside < 0 {
		return end
	}
	value := strings.TrimRightFunc(rest[:meant], unicode.IsSpace)
	if n := len(value); n > 1 && value[0] == '\'' && value[n-1] == '\'' {
		value = value[1 : n-1]
		a.form = formBroken
	}
	value = strings.Map(plainSpace, value)
	_, size := utf8.DecodeRuneInString(rest[inside:])
	p := s.report(s.at+inside, s.at+inside+size, "space", "there is white space in the unquoted value of %s: write %s=%s",
		a.name, a.name, strconv.Quote(value))
	if !strings.ContainsAny(value, "{}\"`") {
		p.replace(s.pos(a.valueAt), s.pos(s.at+meant), strconv.Quote(value))
	}
	return meant
}

func plainSpace(r rune) rune {
	if unicode.IsSpace(r) {
		return ' '
	}
	return r
}

// bareEnd is the length of the unquoted value at the start of text: it ends before a comma that is in no braces, before
// a quote, and before white space that is in no braces. open is the offset of the innermost brace that is still open
// where the value has swallowed a comma that way, else -1.
func bareEnd(text string) (end, open int) {
	var stack []int
	comma := false
	for i, r := range text {
		switch {
		case r == '{':
			stack = append(stack, i)
		case r == '}' && len(stack) > 0:
			stack = stack[:len(stack)-1]
		case r == ',' && len(stack) > 0:
			comma = true
		case r == ',' || r == '"' || r == '`' || (unicode.IsSpace(r) && len(stack) == 0):
			return i, unclosed(stack, comma)
		}
	}
	return len(text), unclosed(stack, comma)
}

func unclosed(stack []int, comma bool) int {
	if len(stack) == 0 || !comma {
		return -1
	}
	return stack[len(stack)-1]
}

// optionIn is the offset of the first comma in text that an option follows, -1 if there is none.
func optionIn(text string) int {
	for i := range len(text) {
		if text[i] == ',' && startsOption(text[i+1:]) {
			return i
		}
	}
	return -1
}

// nextArg is where the next argument's comma is, or the end of text.
func nextArg(text string) int {
	if i := optionIn(text); i >= 0 {
		return i
	}
	return len(text)
}

// startsOption reports whether text begins like an argument: the name of an option, or nearly, and =, or the name of
// one that needs no value.
func startsOption(text string) bool {
	text = strings.TrimLeftFunc(text, unicode.IsSpace)
	end := strings.IndexFunc(text, func(r rune) bool { return !unicode.IsLetter(r) })
	if end < 0 {
		end = len(text)
	}
	o := optionNamed(text[:end])
	if end < len(text) && text[end] == '=' {
		return o != nil || Nearest(text[:end], optionNames()) != ""
	}
	return o != nil && o.kind == kindBool && (end == len(text) || text[end] == ',')
}
