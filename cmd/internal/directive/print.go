package directive

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// String is the canonical form: one line that starts with //lock: and holds the keys in their order, then the other
// options in the order of the documentation. Parsing it gives an equal directive. It is defined for directives
// without problems.
func (d *Directive) String() string {
	var args []string
	for i := range options {
		args = append(args, options[i].print(d, (*option).always)...)
	}
	return "//lock:" + strings.Join(args, ",")
}

// made is String without what changes no code: reasons, and values that hold anyway.
func (d *Directive) made() string {
	var args []string
	for i := range options {
		args = append(args, options[i].print(d, (*option).matters)...)
	}
	return "//lock:" + strings.Join(args, ",")
}

func (o *option) always(OptionValue) bool { return true }

// matters tells whether a value changes code.
func (o *option) matters(v OptionValue) bool {
	return o.kind != kindReason && v.String() != fmt.Sprint(o.list.unset)
}

// print is the option as arguments: none if it was not given, several only for keys. Behind each key stands what it has
// of its own. A switch that is on is its name.
func (o *option) print(d *Directive, shown func(*option, OptionValue) bool) []string {
	if o.ofKey != nil {
		return nil
	}
	var args []string
	for _, v := range o.values(d) {
		if shown(o, v) {
			args = append(args, o.arg(v))
		}
		if k, ok := v.(*Key); ok {
			args = append(args, k.own(shown)...)
		}
	}
	return args
}

// own are the arguments of what a key has of its own.
func (k *Key) own(shown func(*option, OptionValue) bool) []string {
	var args []string
	for i := range options {
		o := &options[i]
		if o.ofKey == nil {
			continue
		}
		if v := o.ofKey(k).get(); v != nil && shown(o, v) {
			args = append(args, o.arg(v))
		}
	}
	return args
}

func (o *option) arg(v OptionValue) string {
	if b, ok := v.(*Bool); ok && b.Value {
		return o.name
	}
	return o.name + "=" + v.String()
}

// quoteValue writes text as a value: bare where it would be read back whole.
func quoteValue(text string) string {
	// The comma stands for whatever may follow on the line: an open brace would swallow it.
	end, _ := bareEnd(text + ",")
	if end == len(text) && text != "" && text[0] != '@' && plain(text) {
		return text
	}
	return strconv.Quote(text)
}

// plain reports whether every character may stand in a line as it is.
func plain(text string) bool {
	return utf8.ValidString(text) && strings.IndexFunc(text, func(r rune) bool {
		return unicode.IsSpace(r) || !unicode.IsPrint(r)
	}) < 0
}

// String is the template as it is written between quotes, before quoting: "{{" for a brace.
func (t *Template) String() string {
	var b strings.Builder
	for _, part := range t.Parts {
		switch part := part.(type) {
		case *Text:
			b.WriteString(strings.NewReplacer("{", "{{", "}", "}}").Replace(part.Value))
		case *Placeholder:
			b.WriteString(part.String())
		}
	}
	return b.String()
}

// String is the placeholder in its shortest form, with the braces.
func (p *Placeholder) String() string {
	s := "{" + p.Name()
	if p.Optional {
		s += "?"
	}
	if p.Filter != FilterNone {
		s += "|" + string(p.Filter)
	}
	return s + "}"
}

// Name is how messages and generated code name the value: "user.ID" or "len(items)".
func (p *Placeholder) Name() string {
	names := make([]string, len(p.Path))
	for i, id := range p.Path {
		names[i] = id.Name
	}
	path := strings.Join(names, ".")
	if p.Len {
		return "len(" + path + ")"
	}
	return path
}
