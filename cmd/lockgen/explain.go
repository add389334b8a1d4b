package main

import (
	"fmt"
	"strings"

	"github.com/lockgen/lockgen/cmd/internal/directive"
	"github.com/lockgen/lockgen/cmd/lockgen/internal/gen"
)

// explainKind is what -explain does.
func (c *command) explainKind() int {
	text, ok := gen.Explain(c.explain)
	if ok {
		fmt.Fprint(c.stdout, text)
		return exitOK
	}
	kinds := gen.Kinds()
	if guess := directive.Nearest(c.explain, kinds); guess != "" {
		return c.misused(fmt.Sprintf("there is no kind of problem %q; did you mean %s?", c.explain, guess))
	}
	return c.misused(fmt.Sprintf("there is no kind of problem %q: the kinds are %s", c.explain, strings.Join(kinds, ", ")))
}
