package directive

import (
	"go/token"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A rawArg is one argument of a line, cut out but not understood.
type rawArg struct {
	name       string
	start, end int // of the whole argument, offsets in the line
	form       form
	value      string // as written, with quotes or @
	valueAt    int    // offset of value
}

type form uint8

const (
	formNone   form = iota // a bare name
	formBare               // name=value
	formQuoted             // name="value" or name=`value`
	formConst              // name=@value
	formBroken             // a value that is reported already and not to be looked at
)

// A scanner cuts one line into arguments. It reports what breaks the cutting and always reaches the end of the line.
type scanner struct {
	line Line
	text string // of the line, without trailing white space
	at   int
	args []rawArg
	problems
}

// scan is the only reader of the line's own syntax.
func scan(line Line) ([]rawArg, problems) {
	s := &scanner{line: line, text: strings.TrimRightFunc(line.Text, unicode.IsSpace)}
	s.characters()
	if s.text == "" {
		s.report(-len("lock:"), len(line.Text), "empty",
			"the directive is empty: write //lock:key=…,ttl=30s, or delete the line")
		return nil, s.problems
	}
	for {
		s.arg()
		if s.at >= len(s.text) {
			return s.args, s.problems
		}
		s.at++ // the comma
	}
}

func (s *scanner) pos(offset int) token.Pos { return s.line.Pos + token.Pos(offset) }

func (s *scanner) report(from, to int, slug, format string, args ...any) *Problem {
	return s.add(s.pos(from), s.pos(to), slug, format, args...)
}

// characters reports what no editor shows: a key that holds it would never be found again.
func (s *scanner) characters() {
	for i, r := range s.text {
		_, size := utf8.DecodeRuneInString(s.text[i:])
		if (r == utf8.RuneError && size == 1) || unicode.IsControl(r) || invisible(r) && !unicode.IsSpace(r) {
			s.report(i, i+size, "character",
				"character %+q cannot stand in a directive: delete it, or write it as an escape in a quoted value", s.text[i:i+size])
		}
	}
}

// arg reads one argument and what separates it from the next; it stops at a comma or at the end.
func (s *scanner) arg() {
	s.blanks("an argument")
	start := s.at
	for s.at < len(s.text) && !strings.ContainsRune("=,\"`", rune(s.text[s.at])) && s.spaceAt(s.at) == 0 {
		s.at++
	}
	a := rawArg{name: s.text[start:s.at], start: start}
	if s.at < len(s.text) && s.text[s.at] == '=' {
		s.at++
		s.blanks("the value")
		s.value(&a)
	}
	a.end = s.at
	switch {
	case a.name != "":
		s.args = append(s.args, a)
	case a.end > start:
		s.report(start, a.end, "empty", "%s has no option's name before it: write name=value", shown(s.text[start:a.end]))
	case s.at < len(s.text) && s.text[s.at] == ',':
		s.report(s.at, s.at+1, "empty", "there is no argument before this comma: delete the comma").write("")
	case start == len(s.text) && start > 0 && s.text[start-1] == ',':
		s.report(start-1, start, "empty", "there is no argument after the last comma: delete the comma").write("")
	}
	s.separator(&a)
}

// blanks skips white space where none belongs.
func (s *scanner) blanks(before string) {
	start := s.at
	for n := s.spaceAt(s.at); n > 0; n = s.spaceAt(s.at) {
		s.at += n
	}
	if s.at > start {
		s.report(start, s.at, "space", "there is white space before %s: a directive has none outside quotes, delete it",
			before).write("")
	}
}

// spaceAt is the size of the white space character at an offset, 0 if there is none.
func (s *scanner) spaceAt(i int) int {
	r, size := utf8.DecodeRuneInString(s.text[i:])
	if size > 0 && unicode.IsSpace(r) {
		return size
	}
	return 0
}

// separator reads what stands between an argument and the comma after it: nothing, if the line is right.
func (s *scanner) separator(a *rawArg) {
	start := s.at
	for n := s.spaceAt(s.at); n > 0; n = s.spaceAt(s.at) {
		s.at += n
	}
	switch {
	case s.at == len(s.text):
	case s.text[s.at] == ',':
		if s.at > start {
			s.report(start, s.at, "space",
				"there is white space before the comma: a directive has none outside quotes, delete it").write("")
		}
	case strings.HasPrefix(s.text[s.at:], "//"):
		s.report(start, len(s.text), "trailing",
			"nothing may follow the arguments: put the comment %s on a line of its own", shown(s.text[s.at:])).write("")
		s.at = len(s.text)
	case s.at > start:
		s.report(start, s.at, "comma", "there is no comma between %s and %s: arguments are separated by a comma alone",
			shown(s.text[a.start:a.end]), shown(s.word())).write(",")
		s.at-- // the caller skips one character for the comma
	default:
		from := s.at
		s.at += nextArg(s.text[s.at:])
		s.report(from, s.at, "quote", "%s is joined to %s: write name=value, and quote the whole value or none of it",
			shown(s.text[from:s.at]), shown(s.text[a.start:a.end]))
	}
}

// word is what stands next, up to white space or a comma.
func (s *scanner) word() string {
	rest := s.text[s.at:]
	if i := strings.IndexFunc(rest, func(r rune) bool { return r == ',' || unicode.IsSpace(r) }); i > 0 {
		return rest[:i]
	}
	return rest
}
