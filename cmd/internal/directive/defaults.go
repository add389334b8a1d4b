package directive

import (
	"fmt"
	"go/ast"
	"go/token"
	"slices"
	"strings"
	"unicode"
)

// Defaults are the options of the //lock:default line in a package's doc comment. They apply to every directive of the
// package that does not set them itself.
type Defaults struct {
	Line    Line
	Options *Directive // no keys; options that were not written are nil
	Prefix  *Template  // text that all key templates begin with, nil for none; keys that are constants are whole
	Out     *String    // name of the generated file, without .go; nil for lock_gen
}

const defaultMark = "//lock:default"

// Pos is the position of the line's "lock:".
func (d *Defaults) Pos() token.Pos { return d.Line.Pos - token.Pos(len("lock:default")) }

// End is the end of the line.
func (d *Defaults) End() token.Pos { return d.Line.Pos + token.Pos(len(d.Line.Text)) }

// onlyDefaults are the options that only the defaults of a package have.
var onlyDefaults = []option{
	{name: "prefix", kind: kindReason, ask: "shop:", slot: func(d *Directive) slot { return field(&d.prefix) }},
	{name: "out", kind: kindReason, ask: "locks_gen", slot: func(d *Directive) slot { return field(&d.out) }},
}

// defaultOptions are the options that a package can have defaults for.
var defaultOptions = slices.DeleteFunc(slices.Concat(options, onlyDefaults), func(o option) bool { return o.own })

// isDefault reports whether a comment is meant as the defaults of a package, and returns what follows the mark.
func isDefault(text string) (rest string, ok bool) {
	rest, ok = strings.CutPrefix(text, defaultMark)
	return rest, ok && (rest == "" || strings.ContainsRune(",:=", rune(rest[0])) || unicode.IsSpace([]rune(rest)[0]))
}

// ParseDefaults reads what follows //lock:default. The result is never nil; where problems are returned it holds what was
// understood.
func ParseDefaults(line Line) (*Defaults, []Problem) {
	d := &Defaults{Line: line, Options: &Directive{Lines: []Line{line}}}
	p := &reader{d: d.Options, seen: map[string]token.Pos{}, options: defaultOptions}
	text := strings.TrimLeftFunc(line.Text, unicode.IsSpace)
	at := line.Pos + token.Pos(len(line.Text)-len(text))
	switch {
	case strings.TrimSpace(text) == "":
		p.add(d.Pos(), d.End(), "empty", "the defaults are empty: write %s ttl=30s, or delete the line", defaultMark)
		return d, p.sorted()
	case len(text) == len(line.Text):
		p.add(line.Pos, line.Pos+1, "default", "a blank parts %s from its options: write %s ttl=30s", defaultMark,
			defaultMark).write(" ")
		text, at = text[1:], at+1
	}
	args, found := scan(Line{Pos: at, Text: text})
	p.problems = append(p.problems, found...)
	for _, a := range args {
		p.arg(Line{Pos: at, Text: text}, a)
	}
	p.conflicts(p.d, false)
	p.schedule(p.d, false)
	d.Out = p.d.out
	d.Prefix = p.prefix()
	p.localConstants()
	return d, p.sorted()
}

// prefix reads the text that keys begin with: a template without placeholders.
func (p *reader) prefix() *Template {
	s := p.d.prefix
	if s == nil {
		return nil
	}
	at := value{text: s.Value, base: s.ValuePos}
	if int(s.ValueEnd-s.ValuePos) == len(s.Value)+len(`""`) {
		at.base++
	}
	t, found := parseTemplate(at, s.ValuePos, s.ValueEnd)
	p.problems = append(p.problems, found...)
	for _, part := range t.Parts {
		if hole, ok := part.(*Placeholder); ok {
			p.add(hole.Pos, hole.End, "default", "prefix holds the placeholder %s, and the values are each function's: write "+
				"text, with {{ for a brace", hole)
			return nil
		}
	}
	return t
}

// localConstants refuses constants of other packages: the files of the functions may not import them.
func (p *reader) localConstants() {
	for i := range defaultOptions {
		o := &defaultOptions[i]
		v := o.given(p.d)
		if v == nil || v.Constant() == nil || v.Constant().Pkg == "" {
			continue
		}
		ref := v.Constant()
		p.add(ref.Pos, ref.End, "default", "%s is a constant of another package, and defaults name those of their own: "+
			"declare const %s = %s and write %s=@%s", ref, ref.Name, ref.String()[1:], o.name, ref.Name)
	}
}

// OnePerPackage returns the defaults of a package from those of its files, and reports all further ones. Place gives a
// position as text for messages.
func OnePerPackage(all []*Defaults, place func(token.Pos) string) (*Defaults, []Problem) {
	if len(all) == 0 {
		return nil, nil
	}
	var found problems
	for _, d := range all[1:] {
		found.add(d.Pos(), d.End(), "default", "the package has its defaults at %s: keep one line", place(all[0].Pos()))
	}
	return all[0], found.sorted()
}

// FindAll is Find for files of one package, with the defaults of the package brought into its directives. Place says where
// something stands, for messages. The results are in the order of the files.
func FindAll(files []*ast.File, place func(token.Pos) string) []*Found {
	var all []*Found
	var defaults []*Defaults
	for _, file := range files {
		found := Find(file)
		all, defaults = append(all, found), append(defaults, found.Defaults...)
	}
	chosen, problems := OnePerPackage(defaults, place)
	for i, found := range all {
		for _, p := range problems {
			if files[i].FileStart <= p.Pos && p.Pos < files[i].FileEnd {
				found.Problems = append(found.Problems, p)
			}
		}
		for _, a := range found.Funcs {
			a.Apply(chosen)
		}
	}
	return all
}

// Apply adds to the directive of a function the defaults that it does not set itself. It corrects the problems: it
// removes those that the defaults solve and adds those that they cause. Nil defaults change nothing.
func (a *Annotated) Apply(d *Defaults) {
	if d == nil {
		return
	}
	a.Directive.Defaults = d
	for i := range options {
		o := &options[i]
		if o.own || o.kind == kindPath || o.cron && a.Directive.Cron == nil || o.given(a.Directive) != nil {
			continue // the locker is Bind's, who knows whether the receiver has one
		}
		o.copyFrom(d.Options, a.Directive)
	}
	if d.Prefix != nil {
		for i, k := range a.Directive.Keys {
			a.Directive.Keys[i] = k.behind(d.Prefix)
		}
	}
	a.correct(d)
}

// copyFrom gives a directive the option of another one. Bind writes into what it resolves, so each has its own.
func (o *option) copyFrom(from, to *Directive) {
	if v := o.given(from); v != nil {
		o.store(to, v.clone())
	}
}

// behind is the key with a prefix before its template.
func (k *Key) behind(prefix *Template) *Key {
	if k.Template == nil {
		return k
	}
	t := *k.Template
	t.Parts = slices.Clone(t.Parts)
	for i := len(prefix.Parts) - 1; i >= 0; i-- {
		text := *prefix.Parts[i].(*Text)
		if first, ok := firstText(t.Parts); ok {
			first.Value = text.Value + first.Value
			t.Parts[0] = &first
			continue
		}
		text.Pos, text.End = k.ValuePos, k.ValuePos
		t.Parts = slices.Insert(t.Parts, 0, Part(&text))
	}
	own := *k
	own.Template = &t
	return &own
}

func firstText(parts []Part) (Text, bool) {
	if len(parts) > 0 {
		if text, ok := parts[0].(*Text); ok {
			return *text, true
		}
	}
	return Text{}, false
}

// correct drops the problem that something is missing which is not, and adds what contradicts the defaults.
func (a *Annotated) correct(d *Defaults) {
	a.Problems = slices.DeleteFunc(a.Problems, func(p Problem) bool {
		return p.Slug == "ttl-missing" && d.Options.TTL != nil || p.Slug == "key-empty" && d.Prefix != nil && a.hasValue(p.Pos)
	})
	var found problems
	found.conflicts(a.Directive, false)
	found.schedule(a.Directive, false)
	for _, p := range found {
		known := func(other Problem) bool { return other.Pos == p.Pos && other.Slug == p.Slug }
		if slices.ContainsFunc(a.Problems, known) || d.Pos() <= p.Pos && p.Pos <= d.End() && d.contradictsItself() {
			continue
		}
		if d.Pos() <= p.Pos && p.Pos <= d.End() {
			p.Pos, p.End, p.Fix = a.Directive.Pos(), a.Directive.End(), nil
		}
		p.Message = fmt.Sprintf("with the package's %s: %s", defaultMark, p.Message)
		a.Problems = append(a.Problems, p)
	}
}

// hasValue tells whether the key at a position has placeholders: behind a prefix they may all be empty.
func (a *Annotated) hasValue(at token.Pos) bool {
	return slices.ContainsFunc(a.Directive.Keys, func(k *Key) bool {
		return k.Template != nil && k.Template.Pos == at && slices.ContainsFunc(k.Template.Parts, func(part Part) bool {
			_, ok := part.(*Placeholder)
			return ok
		})
	})
}

// contradictsItself tells whether the defaults alone are wrong, which is reported where they stand.
func (d *Defaults) contradictsItself() bool {
	var found problems
	found.conflicts(d.Options, false)
	found.schedule(d.Options, false)
	return len(found) > 0
}
