//go:build linux

package redisstore_test

import (
	"bufio"
	"fmt"
	"io"
	"sort"
	"strings"
	"sync"
	"time"

	lockrt "github.com/lockgen/lockgen/runtime"
)

// witness stands outside of all processes. It knows what they believed and when, on the clock of the machine.
type witness struct {
	mu     sync.Mutex
	alive  map[string]map[lockrt.Fence]*belief // by key
	forced map[string][]span                   // by key: when somebody handed on the lock of a holder that may live
	bad    []string
}

// span is a time on the machine's clock.
type span struct{ from, to int64 }

// belief is the time in which a lease's context lived, at least.
type belief struct {
	span
	node  string
	fence lockrt.Fence
}

func newWitness() *witness {
	return &witness{alive: make(map[string]map[lockrt.Fence]*belief), forced: make(map[string][]span)}
}

func (w *witness) complain(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.bad = append(w.bad, fmt.Sprintf(format, args...))
}

// listen hears a process out. It reports whether the process came to its end by itself.
func (w *witness) listen(node string, out io.Reader) (done bool) {
	for in := bufio.NewScanner(out); in.Scan(); {
		line := in.Text()
		switch word, rest, _ := strings.Cut(line, " "); word {
		case "alive":
			b := &belief{node: node}
			var key string
			if _, err := fmt.Sscanf(rest, "%q %d %d %d", &key, (*uint64)(&b.fence), &b.from, &b.to); err != nil {
				w.complain("%s says %q: %v", node, line, err)
				continue
			}
			w.hear(key, b)
		case "done":
			done = true
		default:
			w.complain("%s: %s", node, line)
		}
	}
	return done
}

func (w *witness) hear(key string, b *belief) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.alive[key] == nil {
		w.alive[key] = make(map[lockrt.Fence]*belief)
	}
	old := w.alive[key][b.fence]
	switch {
	case old == nil:
		w.alive[key][b.fence] = b
	case old.node != b.node || old.from != b.from:
		w.bad = append(w.bad, fmt.Sprintf("fence %d of %q was given twice, to %s and %s", b.fence, key, old.node, b.node))
	default:
		old.to = max(old.to, b.to)
	}
}

// force remembers when a lock was handed on by force.
func (w *witness) force(key string, do func()) {
	began := monotonic()
	do()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.forced[key] = append(w.forced[key], span{began, monotonic()})
}

// verdict returns all that must not be, and how many leases there were.
func (w *witness) verdict() (bad []string, leases int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	bad = w.bad
	for key, byFence := range w.alive {
		leases += len(byFence)
		bad = append(bad, w.overlaps(key, byFence)...)
	}
	return bad, leases
}

// overlaps compares neighbours in the order of fences: whoever has the higher one must have begun when all with lower
// ones were over. So fences grow in the order of acquisition, too.
func (w *witness) overlaps(key string, byFence map[lockrt.Fence]*belief) (bad []string) {
	var all []*belief
	for _, b := range byFence {
		all = append(all, b)
	}
	sort.Slice(all, func(i, j int) bool { return all[i].fence < all[j].fence })
	var last *belief // of those so far, the one that lived longest
	for _, b := range all {
		if last != nil && b.from <= last.to && !w.wasForced(key, last) {
			bad = append(bad, fmt.Sprintf("%q: fence %d of %s began %s before fence %d of %s was over",
				key, b.fence, b.node, time.Duration(last.to-b.from), last.fence, last.node))
		}
		if last == nil || b.to > last.to {
			last = b
		}
	}
	return bad
}

// wasForced is whether the lock may have been taken by force from a lease: it is told later.
func (w *witness) wasForced(key string, b *belief) bool {
	for _, f := range w.forced[key] {
		if f.from <= b.to && b.from <= f.to {
			return true
		}
	}
	return false
}
