package directive

import (
	"go/ast"
	"go/token"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// A comment is a look-alike, and an error, if it starts with the word lock, locks or lockgen in any case, a colon, and
// arguments. Comments are prose first, so how much has to look like arguments depends on how much the start looks like
// a directive:
//
//   - Written tight on one side ("// lock:key=…", "//lock: key=…", "//Lock:key=…"), an option's name and = must come
//     first, whatever follows. In a function's doc comment "// lock:key" and "// lock:ttl" alone are enough.
//   - Written loose ("// lock: key=…"), as prose writes a label, all of it must be arguments: every word is name=value
//     or an option that needs none, and the first is an option with its value.
//   - "//lock key=…", "//lock.key=…" and "//lock=key=…", the colon forgotten, are one too, without a blank after //.
//   - Dressed as an annotation ("// @lock:key=…", "// +lock:key=…"), an option's name and = must come first.
//   - In a function's doc comment a directive that is commented out ("///lock:key=…", "// //lock:key=…") counts, unless a
//     function that is commented out follows: then all of it is old code.
//   - A block comment of one line counts like a line; in a function's doc comment every line of a block does that
//     starts in its first column.
//
// A tab before the word makes it an example in a doc comment, and never a look-alike. So do blanks, unless it stands in a
// function's doc comment where no example can begin: gofmt puts an empty line above each.
var alikeHead = regexp.MustCompile(`^( ?)(?i:locks?|lockgen)( ?:|[ .=])([ \t]?)`)

// dress is what stands before the word in a directive that is commented out or written as an annotation.
var dress = regexp.MustCompile(`^ ?(?:/[/ ]*|[@+] ?)`)

var argument = regexp.MustCompile(`^([A-Za-z]+)(=?)`)

// lookAlike reports a comment that was probably meant to be a directive.
func (f *finder) lookAlike(c *ast.Comment, group *ast.CommentGroup, inDoc bool) bool {
	if text, ok := strings.CutPrefix(c.Text, "//"); ok {
		cut := undress(text, c, group, inDoc)
		head, ok := alike(text[cut:], inDoc)
		head += cut
		if !ok {
			return false
		}
		p := f.report(c.Pos(), c.End(), c.Text)
		start := c.Slash + token.Pos(len("//"))
		p.Fix = &Fix{Pos: start, End: start + token.Pos(head), Text: "lock:", Message: `write "//lock:" with no blank in it`}
		return true
	}
	text := strings.TrimSuffix(strings.TrimPrefix(c.Text, "/*"), "*/")
	if !strings.Contains(text, "\n") {
		if _, ok := alike(text[undress(text, c, group, inDoc):], inDoc); ok {
			f.report(c.Pos(), c.End(), c.Text)
			return true
		}
		return false
	}
	found, offset := false, len("/*")
	for _, line := range strings.SplitAfter(text, "\n") {
		bare := strings.TrimPrefix(line, "//")
		if _, ok := alike(bare, inDoc); ok && (inDoc || strings.HasPrefix(bare, "lock:default")) && line[0] != ' ' {
			// In a file with CRLF line ends the parser drops the CRs of a block, so this may be off by a line's
			// number; it stays inside the comment.
			at := c.Slash + token.Pos(offset)
			f.report(at, at+token.Pos(len(strings.TrimRightFunc(line, unicode.IsSpace))), strings.TrimSpace(line))
			found = true
		}
		offset += len(line)
	}
	return found
}

// undress is the length of what stands before the word in a directive that is commented out, written as an annotation, or
// pushed away from the slashes; 0 where it stands for something else.
func undress(text string, c *ast.Comment, group *ast.CommentGroup, inDoc bool) int {
	found := dress.FindString(text)
	blanks := len(text) - len(strings.TrimLeft(text, " "))
	switch {
	case strings.Contains(found, "/") && (!inDoc || holdsFunc(group)):
		return 0
	case found == "" && blanks > 1 && inDoc && !mayBeExample(c, group):
		return blanks
	}
	return len(found)
}

// holdsFunc tells whether a comment holds a function that is commented out.
func holdsFunc(group *ast.CommentGroup) bool {
	return slices.ContainsFunc(group.List, func(c *ast.Comment) bool {
		return strings.HasPrefix(strings.TrimLeft(c.Text, "/ "), "func ")
	})
}

// mayBeExample tells whether a line with blanks before its text belongs to an example: the line above is empty, or one of the
// same example.
func mayBeExample(c *ast.Comment, group *ast.CommentGroup) bool {
	i := slices.Index(group.List, c)
	if i <= 0 {
		return false
	}
	above := strings.TrimPrefix(group.List[i-1].Text, "//")
	return strings.TrimSpace(above) == "" || strings.HasPrefix(above, "  ") || strings.HasPrefix(above, "\t")
}

func (f *finder) report(pos, end token.Pos, text string) *Problem {
	return f.add(pos, end, "look-alike",
		"%s looks like a lock directive and is an ordinary comment, so nothing is locked: write //lock: in lower case, "+
			"with nothing before it and no blank after it, or reword the comment", shown(text))
}

// alike reports whether the text behind // looks like a directive, and how long the part before its arguments is.
func alike(text string, inDoc bool) (head int, ok bool) {
	m := alikeHead.FindStringSubmatch(text)
	if m == nil {
		return 0, false
	}
	before, sep, after := m[1] != "", m[2], m[3] != ""
	rest := strings.TrimRightFunc(text[len(m[0]):], unicode.IsSpace)
	switch {
	case !strings.HasSuffix(sep, ":"):
		return len(m[0]), !before && !after && startsKnown(rest)
	case before && after:
		return len(m[0]), onlyArguments(rest)
	case inDoc && (rest == "key" || rest == "ttl"):
		return len(m[0]), true
	}
	if options, ok := cutWord(rest, "default"); ok { // of a package
		rest = options
	}
	return len(m[0]), startsKnown(rest)
}

// cutWord cuts a word and the blank behind it.
func cutWord(text, word string) (rest string, ok bool) {
	rest, ok = strings.CutPrefix(text, word)
	return strings.TrimLeft(rest, " \t"), ok && strings.TrimLeft(rest, " \t") != rest
}

// startsKnown reports whether text starts with an option's name, in any case, and =.
func startsKnown(text string) bool {
	m := argument.FindStringSubmatch(text)
	return m != nil && m[2] != "" && optionNamed(strings.ToLower(m[1])) != nil && len(text) > len(m[0]) &&
		text[len(m[0])] != '='
}

// onlyArguments reports whether text is arguments from end to end, separated by commas or blanks.
func onlyArguments(text string) bool {
	if !startsKnown(text) {
		return false
	}
	for rest := text; rest != ""; {
		word := firstWord(rest)
		m := argument.FindStringSubmatch(word)
		if m == nil {
			return false
		}
		if o := optionNamed(strings.ToLower(m[1])); m[2] == "" && (len(m[0]) != len(word) || o == nil || o.kind != kindBool) {
			return false
		}
		if m[2] != "" && len(word) == len(m[0]) {
			return false
		}
		rest = strings.TrimLeft(rest[len(word):], ", \t")
	}
	return true
}

// firstWord cuts at the first comma or blank outside quotes and braces.
func firstWord(text string) string {
	depth, quote := 0, rune(0)
	for i, r := range text {
		switch {
		case quote != 0:
			if r == quote {
				quote = 0
			}
		case r == '"' || r == '`':
			quote = r
		case r == '{':
			depth++
		case r == '}':
			depth--
		case depth <= 0 && (r == ',' || unicode.IsSpace(r)):
			return text[:i]
		}
	}
	return text
}
