package gen

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/lockgen/lockgen/cmd/internal/directive"
)

// Options are what a directive says, by the names of its options. Durations are as time.ParseDuration reads them.
type Options []directive.Listed

// Text is the value of an option, "" if it has none.
func (o Options) Text(name string) string {
	for _, option := range o {
		if option.Name == name {
			return fmt.Sprint(option.Value)
		}
	}
	return ""
}

// withOptions is a struct as JSON, with the options behind its fields.
func withOptions(head any, options Options) ([]byte, error) {
	text, err := marshal(head)
	if err != nil {
		return nil, err
	}
	text = text[:len(text)-len("}")]
	for _, option := range options {
		value, err := marshal(option.Value)
		if err != nil {
			return nil, err
		}
		text = fmt.Appendf(text, ",%q:%s", option.Name, value)
	}
	return append(text, '}'), nil
}

// marshal is json.Marshal without escapes for HTML: the encoder around it decides on those.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimRight(b.Bytes(), "\n"), err
}
