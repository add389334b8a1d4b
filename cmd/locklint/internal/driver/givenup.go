package driver

import (
	"cmp"
	"fmt"
	"go/token"
	"io"
	"maps"
	"slices"
	"sync"

	"github.com/lockgen/lockgen/cmd/internal/files"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck"
	"golang.org/x/tools/go/packages"
)

// givenUp are the locks that cost too much to follow. No check says anything about them, which is no clean bill; -v
// tells.
type givenUp struct {
	mu   sync.Mutex
	seen map[token.Position]string
}

// watchGivenUp collects them.
func watchGivenUp() *givenUp {
	g := &givenUp{seen: map[token.Position]string{}}
	lockcheck.OnGivenUp = func(at token.Position, what string) {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.seen[at] = what
	}
	return g
}

// print tells of those in some packages, each once. What happens in their dependencies is the business of others.
func (g *givenUp) print(w io.Writer, pkgs []*packages.Package) {
	g.mu.Lock()
	defer g.mu.Unlock()
	asked := map[string]bool{}
	for _, p := range pkgs {
		for _, name := range p.CompiledGoFiles {
			asked[name] = true
		}
	}
	places := slices.SortedFunc(maps.Keys(g.seen), func(a, b token.Position) int {
		return cmp.Or(cmp.Compare(a.Filename, b.Filename), cmp.Compare(a.Offset, b.Offset))
	})
	for _, at := range places {
		if asked[at.Filename] {
			fmt.Fprintf(w, "locklint: %s:%d:%d: %s is not followed to the end, and nothing is found about it: too many ways "+
				"lead through the function; split it\n", files.Name(relative(at.Filename)), at.Line, at.Column, g.seen[at])
		}
	}
}
