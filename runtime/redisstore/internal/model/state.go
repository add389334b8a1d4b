package model

import (
	"fmt"
	"strings"
)

// State is everything: the server, the leases, what the network holds, and how many more faults may happen.
type State struct {
	Server
	Lease  [MaxLeases]Lease
	Dead   [MaxProcs]bool
	Faults int8
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
	fmt.Fprintf(&b, "server: owner %s epoch %d, %d ticks left, floor %d, queue %v for %d ticks, live %v",
		ownerName(s.Owner), s.Epoch, s.Left, s.Floor, s.Queue[:s.Queued], s.WaitersLeft, s.Live)
	for i, l := range s.Lease {
		if l.Phase == New {
			continue
		}
		fmt.Fprintf(&b, "\n  lease %d: %s", i, l.Phase)
		if l.Phase == Holding || l.Phase == Refreshing {
			fmt.Fprintf(&b, " epoch %d for %d ticks", l.Epoch, l.Left)
		}
		if l.Call.Kind != NoCall {
			fmt.Fprintf(&b, ", call %+v", l.Call)
		}
		if l.Phase == Waiting {
			fmt.Fprintf(&b, " for %d ticks", l.Asks)
		}
		if l.Late != NoCall {
			fmt.Fprintf(&b, ", late %s", l.Late)
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
	}
	return fmt.Sprint("lease ", owner)
}
