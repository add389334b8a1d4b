package sqlstore

import (
	"context"
	"database/sql"
	"strconv"
	"strings"
)

// args are a statement's parameters by name. A [][]byte or []string stands for as many parameters as it has elements.
type args map[string]any

// pairs stands for a list of tuples of two.
type pairs [][2]any

// build makes a statement of its template: {lock} and the like are replaced, and each :name becomes a parameter.
func (t *tables) build(template string, a args) (string, []any) {
	text := t.names.Replace(template)
	var b strings.Builder
	var values []any
	at := make(map[string]string)
	param := func(v any) string {
		values = append(values, v)
		if t.numbered {
			return "$" + strconv.Itoa(len(values))
		}
		return "?"
	}
	for i := 0; i < len(text); {
		name := paramAt(text, i)
		if name == "" {
			b.WriteByte(text[i])
			i++
			continue
		}
		i += 1 + len(name)
		if known := at[name]; known != "" && t.numbered {
			b.WriteString(known)
			continue
		}
		var marks []string
		value := t.value(name, a)
		if tuples, ok := value.(pairs); ok {
			for _, two := range tuples {
				marks = append(marks, "("+param(two[0])+", "+param(two[1])+")")
			}
		} else {
			for _, v := range elements(value) {
				marks = append(marks, param(v))
			}
		}
		at[name] = strings.Join(marks, ", ")
		b.WriteString(at[name])
	}
	return b.String(), values
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

func (t *tables) value(name string, a args) any {
	if v, ok := a[name]; ok {
		return v
	}
	if name == "now" {
		return clockMicros() // the engine has no clock of its own that is good enough
	}
	panic("sqlstore: no value for the parameter " + name)
}

func elements(v any) []any {
	var all []any
	switch v := v.(type) {
	case [][]byte:
		for _, e := range v {
			all = append(all, e)
		}
	case []string:
		for _, e := range v {
			all = append(all, e)
		}
	default:
		all = []any{v}
	}
	return all
}

// padded repeats the last element until there are 2^n: each length is a statement of its own to the server.
func padded[T any](list []T) []T {
	for n := len(list); n > 0 && n&(n-1) != 0; n++ {
		list = append(list[:len(list):len(list)], list[len(list)-1])
	}
	return list
}

// exec runs a statement and returns how many rows it changed.
func (t *tables) exec(ctx context.Context, q querier, template string, a args) (int64, error) {
	text, values := t.build(template, a)
	result, err := q.ExecContext(ctx, text, values...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// query runs a statement and has each row scanned.
func (t *tables) query(ctx context.Context, q querier, template string, a args, scan func(*sql.Rows) error) (err error) {
	text, values := t.build(template, a)
	rows, err := q.QueryContext(ctx, text, values...)
	if err != nil {
		return err
	}
	defer func() {
		if closing := rows.Close(); err == nil {
			err = closing
		}
	}()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}
