package lincheck

import (
	"fmt"

	"github.com/anishathalye/porcupine"

	lockrt "github.com/lockgen/lockgen/runtime"
)

// What a client does to the lock.
type action int

const (
	acquire action = iota // with the fence that it got
	busy                  // a try that was told that somebody else holds the lock
	release               // of the lease with this fence
	expire                // the end of a lease whose release nobody confirmed: at some time, or never seen
)

// step is the input of one operation; it holds the result too, because the sequential lock below needs both at once.
type step struct {
	action action
	fence  lockrt.Fence
}

// state is one lock: who holds it, and the highest fence it ever gave.
type state struct {
	holder, highest lockrt.Fence
}

// sequential says what one lock may do, one operation after another.
var sequential = porcupine.Model{
	Init: func() any { return state{} },
	Step: func(before, input, _ any) (bool, any) {
		s, in := before.(state), input.(step)
		switch in.action {
		case acquire:
			// Strictly above every fence before: that is what keeps out whoever held it once.
			return s.holder == 0 && in.fence > s.highest, state{in.fence, in.fence}
		case busy:
			return s.holder != 0, s
		case release:
			return s.holder == in.fence, state{0, s.highest}
		case expire:
			if s.holder == in.fence {
				s.holder = 0
			}
			return true, s
		}
		return false, s
	},
	Equal: func(a, b any) bool { return a == b },
	DescribeOperation: func(input, _ any) string {
		in := input.(step)
		return fmt.Sprintf("%s %d", [...]string{"acquire", "busy", "release", "expire"}[in.action], in.fence)
	},
	DescribeState: func(s any) string { return fmt.Sprintf("%+v", s) },
}
