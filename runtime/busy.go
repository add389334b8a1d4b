package runtime

import (
	"context"
	"time"
)

// busyHere is the BusyError of a lock that a caller of this Locker holds.
func (l *Locker) busyHere(g *grant) *BusyError {
	ttl, deadline := g.state()
	return &BusyError{Key: g.key, Holder: l.cfg.Node, Remaining: time.Until(deadline) + margin(ttl)}
}

// busy says who holds the lock at the end of a wait in line; if nobody here does, the store knows.
func (l *Locker) busy(ctx context.Context, key string) error {
	if held := l.lines.heldBy(key); held != nil {
		return l.busyHere(held)
	}
	busy := &BusyError{Key: key}
	ctx, cancel := context.WithTimeout(ctx, busyLookup)
	defer cancel()
	if info, err := l.Holder(ctx, key); err == nil {
		busy.Holder, busy.Remaining = info.Node, info.Remaining
	}
	return busy
}

// busyLookup bounds the question who is in the way, at the end of a wait.
const busyLookup = 200 * time.Millisecond
