//go:build linux

package lockchaos

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	lockrt "github.com/lockgen/lockgen/runtime"
)

// witness stands outside of all processes. It knows what they believed and when, on the clock of the machine.
type witness struct {
	mu     sync.Mutex
	alive  map[string]map[beliefID]*belief // by key
	forced map[string][]span               // by key: when somebody handed on the lock of a holder that may live
	bad    []string
}

// span is a time on the machine's clock.
type span struct{ from, to int64 }

// belief is the time in which a lease's context lived, at least. It was asked for before that: its process may have been
// granted the lock long before it could see that.
type belief struct {
	beliefID
	span
	asked   int64
	fence   lockrt.Fence
	mode    lockrt.Mode
	permits int
	slot    int
}

// beliefID tells beliefs apart. One that reads after a downgrade is another one than that of the same lease before.
type beliefID struct {
	node   string
	number int
}

const beliefFormat = "%q %d %d %d %d %d %d %d %d"

// tell is what a process says of a belief.
func (b *belief) tell(key string) string {
	return fmt.Sprintf("alive "+beliefFormat, key, b.number, uint64(b.fence), uint8(b.mode), b.permits, b.slot, b.asked,
		b.from, b.to)
}

// read is the inverse of tell, without the word.
func (b *belief) read(text string) (key string, err error) {
	_, err = fmt.Sscanf(text, beliefFormat, &key, &b.number, (*uint64)(&b.fence), (*uint8)(&b.mode), &b.permits, &b.slot,
		&b.asked, &b.from, &b.to)
	return key, err
}

func (b *belief) kind() string { return Kind(lockrt.Options{Mode: b.mode, Permits: b.permits}) }

func (b *belief) String() string {
	return fmt.Sprintf("the %s of %s with fence %d and slot %d (%d)", b.kind(), b.node, b.fence, b.slot, b.number)
}

// beside reports whether two may live at the same time.
func (b *belief) beside(other *belief) bool {
	switch {
	case b.permits > 0:
		return other.permits > 0 && b.slot != other.slot
	case b.mode == lockrt.Read:
		return other.mode == lockrt.Read && b.fence == other.fence
	}
	return false
}

func newWitness() *witness {
	return &witness{alive: make(map[string]map[beliefID]*belief), forced: make(map[string][]span)}
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
			b := &belief{beliefID: beliefID{node: node}}
			key, err := b.read(rest)
			if err != nil {
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
		w.alive[key] = make(map[beliefID]*belief)
	}
	if old := w.alive[key][b.beliefID]; old != nil {
		old.to = max(old.to, b.to)
	} else {
		w.alive[key][b.beliefID] = b
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

// verdict returns all that must not be, and how many leases there were of each kind, alone and together with others of
// other processes.
func (w *witness) verdict() (bad []string, leases map[string]int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	bad, leases = slices.Clone(w.bad), make(map[string]int)
	for key, beliefs := range w.alive {
		all := slices.SortedFunc(maps.Values(beliefs), func(a, b *belief) int { return cmp.Compare(a.from, b.from) })
		for _, problem := range w.judge(key, all, leases) {
			bad = append(bad, fmt.Sprintf("%q: %s", key, problem))
		}
	}
	return bad, leases
}

// judge takes the beliefs in one key in the order in which they began. Those that live together must be such as may,
// and no more than there are permits. Fences grow in the order of acquisition: over all if one of the two is alone,
// over the permits of one slot, and readers who do not share one.
func (w *witness) judge(key string, all []*belief, leases map[string]int) (bad []string) {
	var living []*belief
	var before fences
	grants := asked(all)
	for _, b := range all {
		leases[b.kind()]++
		if w.wasForced(key, span{grants[b.grant()], b.to}) {
			continue
		}
		living = slices.DeleteFunc(living, func(other *belief) bool { return other.to < b.from })
		limit := b.permits
		for _, other := range living {
			limit = max(limit, other.permits) // one of two that stands beside two of three may pass on in its process
			if !b.beside(other) {
				bad = append(bad, fmt.Sprintf("%s began %s before %s was over", b, time.Duration(other.to-b.from), other))
			}
		}
		if b.permits > 0 && len(living) >= limit {
			bad = append(bad, fmt.Sprintf("%s began beside %d of %d: %v", b, len(living), limit, living))
		}
		if slices.ContainsFunc(living, func(other *belief) bool { return other.node != b.node }) {
			leases[b.kind()+"s together"]++
		}
		living = append(living, b)
		if highest := before.take(b); highest != nil {
			bad = append(bad, fmt.Sprintf("%s began after %s", b, highest))
		}
	}
	return bad
}

// fences are those with the highest fences so far: of writers, of readers, of permits, and of each slot.
type fences struct {
	writer, reader, permit *belief
	slots                  map[int]*belief
}

// take adds a belief. It returns one before it whose fence is too high for that, nil if there is none.
func (f *fences) take(b *belief) (wrong *belief) {
	refuse := func(other *belief, equal bool) {
		if other != nil && (other.fence > b.fence || other.fence == b.fence && !equal) {
			wrong = other
		}
	}
	raise := func(highest *belief) *belief {
		if highest == nil || b.fence > highest.fence {
			return b
		}
		return highest
	}
	switch {
	case b.permits > 0:
		refuse(f.writer, false)
		refuse(f.reader, false)
		refuse(f.slots[b.slot], false)
		if f.slots == nil {
			f.slots = make(map[int]*belief)
		}
		f.permit, f.slots[b.slot] = raise(f.permit), raise(f.slots[b.slot])
	case b.mode == lockrt.Read:
		refuse(f.writer, true) // it may have joined one that was downgraded
		refuse(f.reader, true)
		refuse(f.permit, false)
		f.reader = raise(f.reader)
	default:
		refuse(f.writer, false)
		refuse(f.reader, false)
		refuse(f.permit, false)
		f.writer = raise(f.writer)
	}
	return wrong
}

// grant is one of the store to a process, which may pass it on. Readers of a process who are together count as one.
type grant struct {
	node  string
	epoch uint64
}

func (b *belief) grant() grant { return grant{b.node, b.fence.Epoch()} }

// asked is from when on each grant may have been there.
func asked(all []*belief) map[grant]int64 {
	since := make(map[grant]int64)
	for _, b := range all {
		if first, known := since[b.grant()]; !known || b.asked < first {
			since[b.grant()] = b.asked
		}
	}
	return since
}

// wasForced is whether the lock may have been taken by force from a lease of that time: it is told later, so that it
// may even begin to believe in it only then.
func (w *witness) wasForced(key string, lease span) bool {
	for _, f := range w.forced[key] {
		if f.from <= lease.to && lease.from <= f.to {
			return true
		}
	}
	return false
}
