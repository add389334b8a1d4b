package directive

import (
	"go/token"
	"strings"
	"testing"
)

// Test inputs mark where problems are expected: ‹…› around the text a problem has to span, in order.

type span struct{ from, to int }

// unmark takes the marks out of a text and returns where they were.
func unmark(t *testing.T, marked string) (string, []span) {
	t.Helper()
	var b strings.Builder
	var spans []span
	var open []int
	for _, r := range marked {
		switch r {
		case '‹':
			open = append(open, len(spans))
			spans = append(spans, span{from: b.Len()})
		case '›':
			if len(open) == 0 {
				t.Fatalf("%q closes a mark that is not open", marked)
			}
			spans[open[len(open)-1]].to = b.Len()
			open = open[:len(open)-1]
		default:
			b.WriteRune(r)
		}
	}
	if len(open) > 0 {
		t.Fatalf("%q leaves a mark open", marked)
	}
	return b.String(), spans
}

// base is the position of the first byte of a test's text: not 1, so that an offset cannot pass for a position.
const base = token.Pos(1000)

// linesOf cuts comment text into the lines of a directive.
func linesOf(text string) []Line {
	var lines []Line
	offset := 0
	for _, line := range strings.Split(text, "\n") {
		if rest, ok := strings.CutPrefix(line, "//lock:"); ok {
			lines = append(lines, Line{Pos: base + token.Pos(offset+len("//lock:")), Text: rest})
		}
		offset += len(line) + 1
	}
	return lines
}

// A want is one expected problem: slug, then words of the message, in order.
type want []string

// checkProblems compares problems with what a test wants at the marks of its text.
func checkProblems(t *testing.T, text string, spans []span, wants []want, got []Problem) {
	t.Helper()
	for i, p := range got {
		if i >= len(wants) {
			t.Errorf("unexpected problem [%s] at %s: %s", p.Slug, at(text, p), p.Message)
			continue
		}
		w := wants[i]
		if p.Slug != w[0] {
			t.Errorf("problem %d is [%s], want [%s]: %s", i, p.Slug, w[0], p.Message)
		}
		if slugs[p.Slug] == "" {
			t.Errorf("slug %q is not explained", p.Slug)
		}
		rest := p.Message
		for _, words := range w[1:] {
			j := strings.Index(rest, words)
			if j < 0 {
				t.Errorf("message %q lacks %q", p.Message, words)
				break
			}
			rest = rest[j+len(words):]
		}
		if i < len(spans) {
			if from, to := int(p.Pos-base), int(p.End-base); from != spans[i].from || to != spans[i].to {
				t.Errorf("problem %d [%s] spans %s, want %q", i, p.Slug, at(text, p), text[spans[i].from:spans[i].to])
			}
		}
		if strings.HasSuffix(p.Message, ".") || strings.Contains(p.Message, "\n") || strings.Contains(p.Message, "%!") {
			t.Errorf("message %q is not one line without a period", p.Message)
		}
	}
	for _, w := range wants[min(len(got), len(wants)):] {
		t.Errorf("missing problem [%s] %q", w[0], w[1:])
	}
	if len(spans) != len(wants) {
		t.Errorf("the test marks %d places and wants %d problems", len(spans), len(wants))
	}
}

func at(text string, p Problem) string {
	from, to := int(p.Pos-base), int(p.End-base)
	if from < 0 || to > len(text) || from > to {
		return "a place outside the text"
	}
	return "`" + text[from:to] + "`"
}

// fixed applies the fixes of all problems that have one.
func fixed(text string, from token.Pos, found []Problem) string {
	for i := len(found) - 1; i >= 0; i-- {
		if f := found[i].Fix; f != nil {
			text = text[:f.Pos-from] + f.Text + text[f.End-from:]
		}
	}
	return text
}
