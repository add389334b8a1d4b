package directive

import (
	"go/token"
	"slices"
	"strings"
	"unicode"
)

var filters = []string{
	string(FilterLower), string(FilterHash), string(FilterUnix), string(FilterText), string(FilterString),
}

// A holeParser reads what stands between two braces.
type holeParser struct {
	*templateParser
	at, end int // the text between the braces
	hole    *Placeholder
}

// parse reports what is wrong and whether enough is right to go on with the placeholder.
func (h *holeParser) parse() bool {
	h.trim()
	text := h.v.text[h.at:h.end]
	if text == "" {
		h.report(h.at-1, h.end+1, "placeholder",
			"there is no name between the braces: write a parameter such as {id}, or {{ and }} for braces in the text of the "+
				"key")
		return false
	}
	path, suffix := text, ""
	if i := strings.IndexAny(text, "?|"); i >= 0 {
		path, suffix = text[:i], text[i:]
	}
	ok := h.path(h.at, path)
	return h.suffix(h.at+len(path), suffix) && ok
}

// trim reports and skips white space inside the braces.
func (h *holeParser) trim() {
	text := h.v.text[h.at:h.end]
	left := len(text) - len(strings.TrimLeftFunc(text, unicode.IsSpace))
	if left > 0 {
		h.space(h.at, h.at+left)
	}
	h.at += left
	text = text[left:]
	right := len(text) - len(strings.TrimRightFunc(text, unicode.IsSpace))
	if right > 0 {
		h.space(h.end-right, h.end)
	}
	h.end -= right
}

func (h *holeParser) space(from, to int) {
	h.report(from, to, "space", "there is white space between the braces: a placeholder has none, delete it").write("")
}

// path reads name.field.field or len(name.field) at offset i.
func (h *holeParser) path(i int, text string) bool {
	if rest, ok := strings.CutPrefix(text, "len("); ok {
		inner, closed := strings.CutSuffix(rest, ")")
		if !closed {
			h.report(i, i+len(text), "placeholder", "%s is no length: write {len(name)}", shown(text))
			return false
		}
		h.hole.Len = true
		i, text = i+len("len("), inner
	}
	for _, name := range strings.Split(text, ".") {
		if !usableIdent(name) {
			h.badPath(i, i+len(name), name, text)
			return false
		}
		h.hole.Path = append(h.hole.Path, Ident{Pos: h.v.pos(i), End: h.v.pos(i + len(name)), Name: name})
		i += len(name) + 1
	}
	return true
}

// badPath reports one name of a path that is none.
func (h *holeParser) badPath(from, to int, name, path string) {
	const takes = "a placeholder is a parameter or receiver and its fields, such as {user.ID}"
	call, _, isCall := strings.Cut(name, "(")
	switch {
	case name == "_":
		h.report(from, to, "placeholder", "a blank parameter has no value to read: give it a name and write that")
	case name == "":
		h.report(from, to, "placeholder", "%s has an empty name between its dots: %s", shown(path), takes)
	case isCall && usableIdent(call):
		h.report(from, to, "method",
			"%s calls %s, and nothing may run before the lock is taken: %s; |text and |string use a type's own text",
			shown(path), call, takes)
	case strings.ContainsAny(name, "[]"):
		h.report(from, to, "placeholder", "%s takes an element, and there may be none: %s; pass the element as a parameter",
			shown(path), takes)
	case token.IsKeyword(name):
		h.report(from, to, "placeholder", "%s is a keyword: %s", shown(name), takes)
	default:
		h.report(from, to, "placeholder", "%s is no name: %s, and {{ and }} are braces in the text of the key", shown(name),
			takes)
	}
}

// suffix reads [?][|filter] at offset i.
func (h *holeParser) suffix(i int, text string) bool {
	if rest, ok := strings.CutPrefix(text, "?"); ok {
		h.hole.Optional = true
		i, text = i+1, rest
	}
	if text == "" {
		return true
	}
	name, ok := strings.CutPrefix(text, "|")
	if !ok {
		h.report(i, i+len(text), "placeholder", "%s follows the ?: only a filter may, such as {%s?|lower}", shown(text),
			h.hole.Name())
		return false
	}
	if first, ok := strings.CutSuffix(name, "?"); ok && slices.Contains(filters, first) {
		h.report(i, i+len(text), "filter", "the ? belongs to the name: write ?|%s", first).write("?|" + first)
		h.hole.Optional = true
		name = first
	}
	if !slices.Contains(filters, name) {
		h.badFilter(i+1, name)
		return false
	}
	h.hole.Filter, h.hole.FilterPos = Filter(name), h.v.pos(i+1)
	return true
}

func (h *holeParser) badFilter(i int, name string) {
	if strings.Contains(name, "|") {
		h.report(i, i+len(name), "filter", "%s is more than one filter: a placeholder takes one", shown(name))
		return
	}
	if name == "" {
		h.report(i-1, i, "filter", "no filter follows the |: write %s, or delete it", oneOf(filters)).write("")
		return
	}
	guess := Nearest(name, filters)
	problem := h.report(i, i+len(name), "filter", "there is no filter %s: write %s%s", shown(name), oneOf(filters),
		didYouMean(guess))
	if guess != "" {
		problem.write(guess)
	}
}
