package sqlstore

import (
	"slices"
	"strconv"
	"strings"
)

// args are a statement's parameters by name. Lists stand for as many parameters as they have elements.
type args map[string]any

// tuples are a list whose elements stand in parentheses.
type tuples [][]any

// template is a statement that was taken apart: parts[i] stands before params[i].
type template struct {
	parts, params []string
	plain         string // the text if no parameter is a list
}

// parse takes a statement apart, once: {lock} and the like are replaced, and each :name is a parameter.
func (t *tables) parse(text string) *template {
	if known, ok := t.parsed.Load(text); ok {
		return known.(*template)
	}
	made := new(template)
	rest := t.names.Replace(text)
	if t.bound != nil {
		rest = t.bound(rest)
	}
	from := 0
	for i := 0; i < len(rest); i++ {
		if name := paramAt(rest, i); name != "" {
			made.parts, made.params = append(made.parts, rest[from:i]), append(made.params, name)
			from = i + 1 + len(name)
			i = from - 1
		}
	}
	made.parts = append(made.parts, rest[from:])
	made.plain, _ = t.fill(made, func(string) any { return nil })
	t.parsed.Store(text, made)
	return made
}

// paramAt returns the name of the parameter that begins at i, "" if none does. "::" is a cast.
func paramAt(text string, i int) string {
	if text[i] != ':' || i > 0 && text[i-1] == ':' {
		return ""
	}
	end := i + 1
	for end < len(text) && text[end] >= 'a' && text[end] <= 'z' {
		end++
	}
	return text[i+1 : end]
}

// build makes a statement of its template.
func (t *tables) build(text string, a args) (string, []any) {
	of, now := t.parse(text), clockMicros()
	value := func(name string) any {
		if v, ok := a[name]; ok {
			return v
		}
		if name != "now" { // the engine has no clock of its own that is good enough
			panic("sqlstore: no value for the parameter " + name)
		}
		return now
	}
	values := make([]any, 0, len(of.params))
	for i, name := range of.params {
		if t.numbered != "" && slices.Contains(of.params[:i], name) {
			continue
		}
		v := value(name)
		switch v.(type) {
		case tuples, [][]byte, []string:
			return t.fill(of, value)
		}
		values = append(values, v)
	}
	return of.plain, values
}

// fill writes the text of a statement with as many parameters as its lists have elements.
func (t *tables) fill(of *template, value func(name string) any) (string, []any) {
	var b strings.Builder
	var values []any
	param := func(v any) {
		values = append(values, v)
		if t.numbered == "" {
			b.WriteByte('?')
		} else {
			b.WriteString(t.numbered + strconv.Itoa(len(values)))
		}
	}
	written := make(map[string]string)
	for i, name := range of.params {
		b.WriteString(of.parts[i])
		if known := written[name]; known != "" && t.numbered != "" {
			b.WriteString(known)
			continue
		}
		from := b.Len()
		switch list := value(name).(type) {
		case tuples:
			separated(&b, list, func(tuple []any) {
				b.WriteByte('(')
				separated(&b, tuple, param)
				b.WriteByte(')')
			})
		case [][]byte:
			separated(&b, list, func(v []byte) { param(v) })
		case []string:
			separated(&b, list, func(v string) { param(v) })
		default:
			param(list)
		}
		written[name] = b.String()[from:]
	}
	b.WriteString(of.parts[len(of.params)])
	return b.String(), values
}

// separated writes each element, with a comma between two.
func separated[T any](b *strings.Builder, list []T, write func(T)) {
	for i, v := range list {
		if i > 0 {
			b.WriteString(", ")
		}
		write(v)
	}
}

// padded repeats the last element until there are 2^n: each length is a statement of its own to the server.
func padded[T any](list []T) []T {
	for n := len(list); n > 0 && n&(n-1) != 0; n++ {
		list = append(list[:len(list):len(list)], list[len(list)-1])
	}
	return list
}
