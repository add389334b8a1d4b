package testlocks

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	lockrt "github.com/lockgen/lockgen/runtime"
)

// Witness knows what the holders of locks believed, and when.
type Witness struct {
	mu      sync.Mutex
	beliefs map[string]map[beliefID]*Belief // by key
	bad     []string
}

// Belief is the time in which a lease's context lived, at least, on the clock of the machine.
type Belief struct {
	Key      string
	Number   int // tells those of a node apart
	From, To int64
	Node     string
	Fence    lockrt.Fence
	Read     bool
	Slot     int // of a permit, else -1
}

type beliefID struct {
	node   string
	number int
}

// NewWitness returns one that knows nothing.
func NewWitness() *Witness { return &Witness{beliefs: make(map[string]map[beliefID]*Belief)} }

// Hear takes a belief, or an update of one.
func (w *Witness) Hear(b Belief) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.beliefs[b.Key] == nil {
		w.beliefs[b.Key] = make(map[beliefID]*Belief)
	}
	id := beliefID{b.Node, b.Number}
	if old := w.beliefs[b.Key][id]; old != nil {
		old.To = max(old.To, b.To)
	} else {
		w.beliefs[b.Key][id] = &b
	}
}

func (w *Witness) complain(format string, a ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.bad = append(w.bad, fmt.Sprintf(format, a...))
}

const (
	beliefFormat = "%q %d %d %d %d %t %d"
	beliefWord   = "alive"
	doneWord     = "done"
)

// line is what another process says of a belief.
func (b Belief) line() string {
	return fmt.Sprintf(beliefWord+" "+beliefFormat, b.Key, b.Number, b.From, b.To, uint64(b.Fence), b.Read, b.Slot)
}

// listen hears another process out. It reports whether the process came to its end by itself. A last line without an
// end is that of a process that was killed.
func (w *Witness) listen(node string, out io.Reader) (done bool) {
	for in := bufio.NewReader(out); ; {
		line, err := in.ReadString('\n')
		if err != nil {
			return done
		}
		line = strings.TrimSuffix(line, "\n")
		word, rest, _ := strings.Cut(line, " ")
		b := Belief{Node: node}
		switch {
		case word == doneWord:
			done = true
			continue
		case word == beliefWord:
			_, err = fmt.Sscanf(rest, beliefFormat, &b.Key, &b.Number, &b.From, &b.To, (*uint64)(&b.Fence), &b.Read, &b.Slot)
		}
		if word != beliefWord || err != nil {
			w.complain("%s says: %s", node, line)
			continue
		}
		w.Hear(b)
	}
}

// Verdict returns all that must not be, and how many leases there were.
func (w *Witness) Verdict() (bad []string, leases int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	bad = slices.Clone(w.bad)
	for key, beliefs := range w.beliefs {
		var all []Belief
		for _, b := range beliefs {
			all = append(all, *b)
		}
		leases += len(all)
		for _, problem := range judge(all) {
			bad = append(bad, fmt.Sprintf("%q: %s", key, problem))
		}
	}
	return bad, leases
}

// judge goes through beliefs in the order of their fences: whoever has the higher one must have begun when all with
// lower ones were over with whom it may not share. Readers share one fence, which one of them may have had as a writer.
// Permits have a slot each.
func judge(all []Belief) (bad []string) {
	slices.SortFunc(all, func(a, b Belief) int {
		return cmp.Or(cmp.Compare(a.Fence, b.Fence), cmp.Compare(a.From, b.From))
	})
	var longest []Belief // those before that a later one is to be compared with
	for i, b := range all {
		if i > 0 && b.Fence == all[i-1].Fence && (!b.Read || all[i-1].Slot >= 0) {
			bad = append(bad, fmt.Sprintf("fence %d was given twice, to %s and %s", b.Fence, b.Node, all[i-1].Node))
		}
		kept := longest[:0]
		for _, before := range longest {
			if !before.sharesWith(b) && b.From <= before.To {
				bad = append(bad, fmt.Sprintf("%s began %s before %s was over", b, time.Duration(before.To-b.From), before))
			}
			if !b.covers(before) {
				kept = append(kept, before)
			}
		}
		longest = append(kept, b)
	}
	return bad
}

// String says whose it is.
func (b Belief) String() string {
	kind := "writer"
	if b.Read {
		kind = "reader"
	} else if b.Slot >= 0 {
		kind = fmt.Sprint("permit ", b.Slot)
	}
	return fmt.Sprintf("%s of %s with fence %d", kind, b.Node, b.Fence)
}

func (b Belief) sharesWith(other Belief) bool {
	if b.Read || other.Read {
		return b.Read && other.Read && b.Fence == other.Fence
	}
	return b.Slot >= 0 && other.Slot >= 0 && b.Slot != other.Slot
}

// covers reports whether all that may not overlap with another one may not overlap with this one either, and it lived
// longer.
func (b Belief) covers(other Belief) bool {
	alike := b.Read == other.Read && b.Slot == other.Slot && (!b.Read || b.Fence == other.Fence)
	return b.To >= other.To && (alike || !b.Read && b.Slot < 0)
}
