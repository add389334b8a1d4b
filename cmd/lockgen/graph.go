package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/lockgen/lockgen/cmd/lockgen/internal/gen"
	"github.com/lockgen/lockgen/cmd/lockgen/internal/graph"
)

// checkGraph checks the form of a graph, and what it goes together with.
func (c *command) checkGraph(from string) error {
	switch {
	case c.graph == "":
		return nil
	case graph.Forms[c.graph] == nil:
		return fmt.Errorf("-graph %q is no form: write -graph=dot or -graph=mermaid", c.graph)
	case c.json || from != "":
		return errors.New("-graph draws no jobs and no JSON: leave out -from and -json")
	}
	return nil
}

// printGraph is what lockgen list -graph does.
func (c *command) printGraph(ctx context.Context, cfg gen.Config) (int, error) {
	g, problems, err := gen.Nesting(ctx, cfg)
	switch {
	case err != nil:
		return exitFailed, err
	case len(problems) > 0:
		return exitFailed, c.refuse(problems)
	}
	_, err = fmt.Fprint(c.stdout, graph.Forms[c.graph](g))
	return exitOK, err
}
