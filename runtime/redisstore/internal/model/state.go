package model

import (
	"fmt"
	"strings"
)

// State is everything: the server, the leases, what the network holds, and how many more faults may happen.
type State struct {
	Server
	Lease [MaxLeases]Lease
	Dead  [MaxProcs]bool
	// Cut is which processes have no subscription: they have lost it, or have not subscribed yet.
	Cut [MaxProcs]bool
	// Break is a request that is under way Runs times.
	Break  Breaking
	Runs   int8
	Faults int8
}

// Breaking names the lease that a Break is to end, as its sender saw it.
type Breaking struct {
	Who   int8 // a lease or Kept
	Epoch uint8
	Force bool
}

// Start is the state before anything happened. ttl is how long each lease lasts, TTL ticks at the most.
func Start(faults int, ttl [MaxLeases]int8) State {
	s := State{Faults: int8(faults)}
	s.Owner = None
	s.TTL = ttl
	return s
}

// Equal are leases of one length.
var Equal = [MaxLeases]int8{TTL, TTL, TTL, TTL}

// String describes the state for the report of a violation.
func (s State) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "server: owner %s epoch %d, broken %v, %d ticks left, floor %d, queue %v for %d ticks, live %v",
		ownerName(s.Owner), s.Epoch, s.Marked, s.Left, s.Floor, s.Queue[:s.Queued], s.WaitersLeft, s.Live)
	if s.Shared() {
		fmt.Fprintf(&b, ", held by %+v", s.Hold)
	}
	fmt.Fprintf(&b, ", kinds %v, old %v, lines cut %v", s.Kind, s.Old, s.Cut)
	if s.Runs > 0 {
		fmt.Fprintf(&b, ", a Break under way %d times: %+v", s.Runs, s.Break)
	}
	for i, l := range s.Lease {
		if l.Phase == New {
			continue
		}
		fmt.Fprintf(&b, "\n  lease %d: %s", i, l.Phase)
		if l.Phase == Holding || l.Phase == Refreshing {
			fmt.Fprintf(&b, " epoch %d for %d ticks", l.Epoch, l.Left)
		}
		if l.Reads {
			b.WriteString(", reads since a downgrade")
		}
		if l.Call.Kind != NoCall {
			fmt.Fprintf(&b, ", call %+v", l.Call)
		}
		if l.Phase == Waiting {
			fmt.Fprintf(&b, " for %d ticks", l.Asks)
		}
		if l.Late.Kind != NoCall {
			fmt.Fprintf(&b, ", late %s, sent %d ticks ago", l.Late.Kind, l.Late.Sent)
		}
		if l.Doubt > 0 {
			fmt.Fprintf(&b, ", in doubt for %d ticks", l.Doubt-1)
		}
		for name, set := range map[string]bool{"loss under way": l.Lost, "told of its loss": l.Told, "to be checked": l.Check} {
			if set {
				b.WriteString(", " + name)
			}
		}
		for _, g := range l.Pushed {
			if g.Epoch != 0 {
				fmt.Fprintf(&b, ", push of epoch %d, %d ticks old", g.Epoch, g.Age)
			}
		}
	}
	return b.String()
}

func ownerName(owner int8) string {
	switch owner {
	case None:
		return "nobody"
	case Kept:
		return "MinHold"
	case Readers:
		return "readers"
	case Permits:
		return "permits"
	}
	return fmt.Sprint("lease ", owner)
}
