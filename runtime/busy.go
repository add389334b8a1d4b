package lockrt

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// busyHere is the BusyError of a lock that a caller of this Locker holds.
func (l *Locker) busyHere(g *grant) *BusyError {
	ttl, deadline := g.state()
	return &BusyError{Key: g.key, Holder: l.cfg.Node, Remaining: time.Until(deadline) + margin(ttl)}
}

// waitedInVain is the error of a caller whose wait in the queue is over: that somebody holds the lock, if the store has
// said so or a live lease of this process does, or that it cannot be asked. It is nil if nobody here knows.
func (l *Locker) waitedInVain(key string, wait time.Duration) error {
	held, said := l.queues.state(key)
	switch {
	case held != nil && held.err() == nil:
		return l.busyHere(held)
	case said.err != nil:
		return fmt.Errorf("waited for %s, and the store cannot be asked: %w", shown(wait), said.err)
	case said.isFresh():
		return said.holder()
	}
	return nil
}

// tooLate is the error of a caller whose turn came at the end of its wait, and was of no use.
func (l *Locker) tooLate(key string, wait time.Duration) error {
	if err := l.waitedInVain(key, wait); err != nil {
		return err
	}
	return fmt.Errorf("waited for %s, and the turn came too late", shown(wait))
}

// askWhy is waitedInVain where nobody here knows. It asks the store for the holder, for a moment.
func (l *Locker) askWhy(key string, wait time.Duration) error {
	info, err := l.looks.holder(l, key)
	switch {
	case err == nil:
		busy := &BusyError{Key: key, Holder: info.Node, Remaining: info.Remaining}
		if info.Mode == Read || info.Limit > 0 {
			busy.Holders = len(info.Holders)
		}
		return busy
	case errors.Is(err, ErrNotHeld):
		return fmt.Errorf("waited for %s, and the store has neither granted the lock nor named a holder", shown(wait))
	case errors.Is(err, errLookup):
		return fmt.Errorf("waited for %s, and the store does not answer", shown(wait))
	}
	return fmt.Errorf("waited for %s: %w", shown(wait), othersError(err))
}

// shown is a wait for people.
func shown(wait time.Duration) time.Duration { return wait.Round(time.Millisecond) }

// gaveUp is the error of a caller whose context ended while it waited in the queue, with the holder if that is known.
func (l *Locker) gaveUp(ctx context.Context, key string) error {
	held, said := l.queues.state(key)
	switch {
	case held != nil && held.err() == nil:
		return errors.Join(ctx.Err(), l.busyHere(held))
	case said.err != nil:
		return errors.Join(ctx.Err(), fmt.Errorf("the store cannot be asked: %w", said.err))
	case said.isFresh():
		return errors.Join(ctx.Err(), said.holder())
	}
	return ctx.Err()
}

// isFresh reports whether the store has named a holder whose lease should not be over. When it is, the one who asks for
// the queue asks again; a store that does not answer that has said nothing of the present.
func (w word) isFresh() bool {
	return w.busy != nil && time.Since(w.at) <= w.busy.Remaining+freshTime
}

// freshTime is what the next question may take.
const freshTime = 250 * time.Millisecond

// holder is who held the lock when the store said so, and what should be left of that.
func (w word) holder() *BusyError {
	busy := *w.busy
	busy.Remaining = max(busy.Remaining-time.Since(w.at), 0)
	return &busy
}
