package lincheck

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/anishathalye/porcupine"

	lockrt "github.com/lockgen/lockgen/runtime"
)

// What a client does to the lock.
type action int

const (
	acquire      action = iota // with the fence, and the slot of a permit, that it got
	busy                       // a try that was told that somebody else holds the lock
	downgrade                  // of a writer, which has this fence from then on
	release                    // of a lease
	expire                     // the end of a lease whose release nobody confirmed: at some time, or never seen
	tryDowngrade               // that nobody confirmed: done at some time while the lease was held, or never
)

// step is the input of one operation; it holds the result too, because the sequential lock below needs both at once.
type step struct {
	action action
	share
}

// share is one lease on the lock.
type share struct {
	lease   int // a number of its own
	fence   lockrt.Fence
	mode    lockrt.Mode
	permits int
	slot    int
}

// beside reports whether the lock may be held in both ways at the same time.
func (s share) beside(other share) bool {
	switch {
	case s.permits > 0:
		return other.permits > 0 && s.slot != other.slot
	case s.mode == lockrt.Read:
		return other.mode == lockrt.Read && s.fence == other.fence
	}
	return false
}

// passed reports whether the lease was handed on within a process.
func (s share) passed() bool { return s.fence != lockrt.FenceOf(s.fence.Epoch()) }

const maxSlots = 4

// state is one lock: who holds it, and the highest fences it ever gave.
type state struct {
	held    []share // sorted by lease; never changed in place
	highest lockrt.Fence
	alone   lockrt.Fence           // the highest of writers and readers
	slots   [maxSlots]lockrt.Fence // the highest of each slot
	readers lockrt.Fence           // that of the readers of whom none was followed by a writer or a permit yet
}

// acquired is the state with one share more; false if the lock must not be held so.
func (s state) acquired(a share) (state, bool) {
	limit := a.permits
	for _, h := range s.held {
		if !a.beside(h) {
			return s, false
		}
		if a.passed() { // a permit that changes hands in its process makes those of the others no more
			limit = max(limit, h.permits)
		}
	}
	switch {
	case a.permits > 0:
		if len(s.held) >= limit || a.slot < 0 || a.slot >= limit || a.fence <= max(s.alone, s.slots[a.slot]) {
			return s, false
		}
		s.slots[a.slot], s.readers = a.fence, 0
	case a.mode == lockrt.Read:
		// The readers that it joins may be some of whom nobody knows: their own acquires failed.
		if a.fence <= s.highest && a.fence != s.readers {
			return s, false
		}
		s.alone, s.readers = a.fence, a.fence
	default:
		// Strictly above every fence before: that is what keeps out whoever held it once.
		if a.fence <= s.highest {
			return s, false
		}
		s.alone, s.readers = a.fence, 0
	}
	s.highest = max(s.highest, a.fence)
	return s.with(a), true
}

func (s state) with(a share) state {
	s.held = append(slices.Clone(s.held), a)
	slices.SortFunc(s.held, func(a, b share) int { return cmp.Compare(a.lease, b.lease) })
	return s
}

func (s state) without(lease int) (state, bool) {
	at := slices.IndexFunc(s.held, func(h share) bool { return h.lease == lease })
	if at < 0 {
		return s, false
	}
	s.held = slices.Delete(slices.Clone(s.held), at, at+1)
	return s, true
}

// downgraded lets the one who holds the lock alone go on as a reader, with its fence or a higher one.
func (s state) downgraded(a share) (state, bool) {
	if len(s.held) != 1 || s.held[0].lease != a.lease || s.held[0].mode == lockrt.Read || s.held[0].permits > 0 {
		return s, false
	}
	if a.fence != s.held[0].fence && a.fence <= s.highest {
		return s, false
	}
	s.held, s.highest, s.alone, s.readers = nil, a.fence, a.fence, a.fence
	a.mode = lockrt.Read
	return s.with(a), true
}

// sequential says what one lock may do, one operation after another.
var sequential = porcupine.Model{
	Init: func() any { return state{} },
	Step: func(before, input, _ any) (bool, any) {
		s, in := before.(state), input.(step)
		ok := true
		switch in.action {
		case acquire:
			s, ok = s.acquired(in.share)
		case busy:
			ok = len(s.held) > 0
		case downgrade:
			s, ok = s.downgraded(in.share)
		case tryDowngrade:
			s, _ = s.downgraded(in.share)
		case release:
			s, ok = s.without(in.lease)
		case expire:
			s, _ = s.without(in.lease)
		}
		return ok, s
	},
	Equal: func(a, b any) bool {
		s, o := a.(state), b.(state)
		return slices.Equal(s.held, o.held) && s.highest == o.highest && s.alone == o.alone &&
			s.slots == o.slots && s.readers == o.readers
	},
	DescribeOperation: func(input, _ any) string { return input.(step).String() },
	DescribeState:     func(s any) string { return fmt.Sprintf("%+v", s) },
}

func (s step) String() string {
	return fmt.Sprintf("%s %+v", [...]string{"acquire", "busy", "downgrade", "release", "expire", "try to downgrade"}[s.action], s.share)
}
