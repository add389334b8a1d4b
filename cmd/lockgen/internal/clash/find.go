package clash

import (
	"context"

	"github.com/lockgen/lockgen/cmd/lockgen/internal/load"
	"github.com/lockgen/lockgen/cmd/lockgen/internal/problem"
)

// Find finds what keeps the functions of a program from being generated together. The error is about lockgen's own
// work.
func Find(ctx context.Context, p *load.Program) ([]problem.Problem, error) {
	c := &finder{Program: p}
	if len(p.Problems) == 0 {
		if err := c.sameJobs(ctx); err != nil {
			return nil, err
		}
	}
	c.clashesElsewhere()
	c.typesElsewhere()
	c.hiddenJobs()
	c.lostJobs()
	return c.found, nil
}

// A finder collects problems of a program.
type finder struct {
	*load.Program
	found []problem.Problem
}
