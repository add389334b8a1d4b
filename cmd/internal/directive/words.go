package directive

import (
	"slices"
	"strconv"
	"strings"
)

func (p *reader) boolean(o *option, a Arg, f form, text string) (*Bool, bool) {
	b := &Bool{Arg: a, Value: true}
	switch {
	case f == formNone || text == "true":
		return b, true
	case text == "false":
		b.Value = false
		return b, true
	}
	problem := p.add(a.ValuePos, a.ValueEnd, "bool", "%s is %s: write %s or %s=false", o.name, shown(text), o.name, o.name)
	switch strings.ToLower(text) {
	case "true", "yes", "on", "1":
		problem.write("true")
	case "false", "no", "off", "0":
		problem.write("false")
	}
	return nil, false
}

func (p *reader) number(o *option, a Arg, text string) (*Int, bool) {
	n, err := strconv.ParseInt(text, 10, 64)
	if wrong := o.counts().refuses(o, shown(text), n, err == nil); wrong != "" {
		p.add(a.ValuePos, a.ValueEnd, o.counts().slug, "%s", wrong)
		return nil, false
	}
	return &Int{Arg: a, Value: int(n)}, true
}

// str reads the options whose value is text of some kind.
func (p *reader) str(o *option, a Arg, v value) (*String, bool) {
	ok := false
	switch o.kind {
	case kindWord:
		ok = p.word(o, a, v.text)
	case kindIdent:
		ok = p.ident(o, a, v.text)
	case kindPath:
		ok = p.path(o, a, v.text)
	case kindText, kindReason:
		ok = p.text(o, a, v.text)
	}
	return &String{Arg: a, Value: v.text}, ok
}

func (p *reader) word(o *option, a Arg, text string) bool {
	if slices.Contains(o.words, text) {
		return true
	}
	guess := Nearest(text, o.words)
	problem := p.add(a.ValuePos, a.ValueEnd, "choice", "%s is %s: write %s%s", o.name, shown(text), oneOf(o.words),
		didYouMean(guess))
	if guess != "" {
		problem.write(guess)
	}
	return false
}

func (p *reader) ident(o *option, a Arg, text string) bool {
	if usableIdent(text) {
		return true
	}
	p.add(a.ValuePos, a.ValueEnd, "name", "%s is %s, which is no name for a function: write a Go identifier such as %s=%s",
		o.name, shown(text), o.name, o.ask)
	return false
}

// path accepts names joined by dots. Calls and indexes are not: the locker is read on every call, before the lock.
func (p *reader) path(o *option, a Arg, text string) bool {
	for _, name := range strings.Split(text, ".") {
		if !usableIdent(name) {
			p.add(a.ValuePos, a.ValueEnd, "name",
				"%s is %s, and only names joined by dots are read: write a field of the receiver such as %s=%s, or a package "+
					"variable", o.name, shown(text), o.name, o.ask)
			return false
		}
	}
	return true
}

func (ps *problems) text(o *option, a Arg, text string) bool {
	if strings.TrimSpace(text) == "" {
		ps.add(a.ValuePos, a.ValueEnd, "text-empty", "%s is empty: write a value such as %s=%s, or delete the option", o.name,
			o.name, o.ask)
		return false
	}
	if strings.ContainsFunc(text, invisible) {
		ps.add(a.ValuePos, a.ValueEnd, "character", "%s is %s, which holds a character that no log or tool shows: delete it",
			o.name, shownASCII(text))
		return false
	}
	return true
}
