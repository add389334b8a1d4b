package driver

import (
	"fmt"
	"io"
	"runtime/debug"
	"sync"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck"
)

// panics are the bugs of ours that the checks have recovered from. The run goes on, but silence would be taken for a
// clean bill.
type panics struct {
	mu   sync.Mutex
	seen map[string]bool
}

// watchPanics has them printed, each once.
func watchPanics(stderr io.Writer) *panics {
	p := &panics{seen: map[string]bool{}}
	lockcheck.OnPanic = func(what any) {
		p.mu.Lock()
		defer p.mu.Unlock()
		if text := fmt.Sprint(what); !p.seen[text] {
			p.seen[text] = true
			fmt.Fprintf(stderr,
				"locklint: internal error, the findings of a package may be incomplete; please report it: %s\n%s",
				text, debug.Stack())
		}
	}
	return p
}

// exitCode is code, unless something could not be looked at.
func (p *panics) exitCode(code int) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.seen) > 0 {
		return exitFailed
	}
	return code
}
