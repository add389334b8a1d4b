package directive

import (
	"go/token"
	"slices"
)

// Parse reads the //lock: lines of one comment. The directive is never nil; where problems are returned it holds what
// was understood. Problems that need the function or its types are Bind's.
func Parse(lines []Line) (*Directive, []Problem) {
	p := &reader{d: &Directive{Lines: lines}, seen: map[string]token.Pos{}, options: options}
	for i, line := range lines {
		args, found := scan(line)
		p.problems = append(p.problems, found...)
		p.args += len(args)
		for _, a := range args {
			p.arg(line, a)
		}
		p.endLine()
		if i == 0 {
			p.keyFirst = p.hasKey
		}
	}
	// Of a directive without a word nothing more need be said.
	if p.args > 0 {
		p.together()
	}
	return p.d, p.sorted()
}

// A reader holds what the lines said so far.
type reader struct {
	d        *Directive
	options  []option
	seen     map[string]token.Pos // where an option was first given, also with a bad value
	hasKey   bool                 // some key was given, also a bad one
	keyFirst bool                 // on the first line
	key      *Key                 // the last one of this line, also a bad one
	early    []owned              // what this line says of a key before it names one
	args     int
	problems
}

// arg reads one argument into the directive.
func (p *reader) arg(line Line, raw rawArg) {
	at := func(offset int) token.Pos { return line.Pos + token.Pos(offset) }
	a := Arg{Name: raw.name, Pos: at(raw.start), End: at(raw.end)}
	a.ValuePos, a.ValueEnd = a.End, a.End
	if raw.form != formNone {
		a.ValuePos, a.ValueEnd = at(raw.valueAt), at(raw.valueAt)+token.Pos(len(raw.value))
	}
	o := namedIn(p.options, raw.name)
	if o == nil {
		o = p.unknown(&a, raw)
		if o == nil {
			return
		}
	} else if _, ok := p.seen[o.name]; ok && !o.perKey() {
		p.add(a.Pos, a.End, "option-repeat", "%s is given twice, and only keys may be: keep one", o.name)
		return
	}
	if _, ok := p.seen[o.name]; !ok {
		p.seen[o.name] = a.Pos
	}
	if o.kind == kindKey {
		p.hasKey, p.key = true, &Key{}
	}
	p.set(o, a, raw)
}

// unknown reports an argument that is no option and returns the option it was probably meant to be, so that a
// misspelled option is one problem and not also a missing option.
func (p *reader) unknown(a *Arg, raw rawArg) *option {
	nameEnd := a.Pos + token.Pos(len(raw.name))
	if raw.name == "fenced" {
		p.add(a.Pos, a.End, "option-unknown",
			"fenced is no option of a lock but a mark of its own: write //lock:fenced on a line by itself")
		return nil
	}
	if p.elsewhere(a.Pos, nameEnd, raw.name) {
		return nil
	}
	guess := Nearest(raw.name, namesOf(p.options))
	o := namedIn(p.options, guess)
	if o == nil || (!o.perKey() && p.seen[guess].IsValid()) {
		p.add(a.Pos, nameEnd, "option-unknown", "there is no option %s%s (the options are %s)", shown(raw.name),
			didYouMean(guess), oneOf(namesOf(p.options)))
		return nil
	}
	p.add(a.Pos, nameEnd, "option-unknown", "there is no option %s%s", shown(raw.name), didYouMean(guess)).write(guess)
	return o
}

// elsewhere reports an option that belongs to a function and stands in the defaults of a package, or the other way round.
func (p *reader) elsewhere(pos, end token.Pos, name string) bool {
	switch {
	case namedIn(onlyDefaults, name) != nil:
		p.add(pos, end, "default", "%s is for all functions of a package: write it in %s above the package clause", name,
			defaultMark)
	case optionNamed(name) != nil:
		p.add(pos, end, "default", "%s is each function's own, and has no default: write it at the function", name)
	default:
		return false
	}
	return true
}

// set reads the value and puts it in the option's slot.
func (p *reader) set(o *option, a Arg, raw rawArg) {
	switch {
	case raw.form == formBroken:
		return
	case raw.form == formNone && o.kind != kindBool:
		p.add(a.Pos, a.End, "value-missing", "%s has no value: write %s=%s", o.name, o.name, o.ask)
		return
	case raw.form == formConst:
		p.setConst(o, a, raw)
		return
	}
	v, err := unquote(raw.value, a.ValuePos)
	if err != nil {
		p.add(a.ValuePos, a.ValueEnd, "quote", "the value of %s cannot be read, %v", o.name, err)
		return
	}
	p.setValue(o, a, raw.form, v)
}

func (p *reader) setValue(o *option, a Arg, f form, v value) {
	if read, ok := p.read(o, a, f, v); ok {
		p.store(o, read)
	}
}

// read is what a value means to its option. It is false if it means nothing, which is reported.
func (p *reader) read(o *option, a Arg, f form, v value) (OptionValue, bool) {
	switch o.kind {
	case kindKey:
		t, found := parseTemplate(v, a.ValuePos, a.ValueEnd)
		p.problems = append(p.problems, found...)
		return &Key{Arg: a, Template: t}, true
	case kindDuration, kindWait:
		return p.duration(o, a, v.text)
	case kindBool:
		return p.boolean(o, a, f, v.text)
	case kindInt:
		return p.number(o, a, v.text)
	}
	return p.str(o, a, v)
}

// setConst reads a value @Const. What the constant is worth is Bind's to find out.
func (p *reader) setConst(o *option, a Arg, raw rawArg) {
	if o.name == "cron" && slices.Contains([]string{"@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight",
		"@hourly", "@every"}, raw.value) {
		p.add(a.ValuePos, a.ValueEnd, "cron", "cron=%s would be the Go constant %s: write cron=%q for the descriptor",
			raw.value, raw.value[1:], raw.value).
			write(`"` + raw.value + `"`)
		return
	}
	c, ok := constRef(raw.value, a.ValuePos)
	if !ok {
		p.add(a.ValuePos, a.ValueEnd, "constant",
			"%s is no reference to a constant: write @Const or @pkg.Const, or quote text that starts with @", shown(raw.value))
		return
	}
	switch o.kind {
	case kindKey:
		p.store(o, &Key{Arg: a, Const: c})
	case kindDuration, kindWait:
		p.store(o, &Duration{Arg: a, Const: c})
	case kindInt:
		p.store(o, &Int{Arg: a, Const: c})
	case kindText:
		p.store(o, &String{Arg: a, Const: c})
	default:
		p.noConst(o, a)
	}
}

func (p *reader) noConst(o *option, a Arg) {
	p.add(a.ValuePos, a.ValueEnd, "constant",
		"%s takes no constant, it decides what code is written: write the value itself, such as %s=%s", o.name, o.name, o.ask)
}
