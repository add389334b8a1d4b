package redisstore

import (
	"context"
	"errors"
	"time"

	"github.com/lockgen/lockgen/internal/pace"
	lockrt "github.com/lockgen/lockgen/runtime"
)

var errBroken = errors.New("it was broken; the reason did not arrive")

var errForgotten = errors.New("the server has forgotten it")

// Check implements lockrt.Checker. A server that must not be written to does not know: held.lua writes.
func (s *session) Check(ctx context.Context, leases []lockrt.HeldLease) []error {
	return s.perLease(ctx, leases, question{
		script: heldScript, shared: heldSharedScript, sharedFirst: []any{s.waiterID},
		part: func(i int, shared bool) call {
			keys := s.space.keys(leases[i].Key)
			c := call{Keys: []string{keys.lock}, Args: []any{leases[i].ID}}
			if shared {
				c.Keys = append(c.Keys, keys.holders())
			}
			return c
		},
	})
}

// recheck asks about all leases that the Locker believes in after the session was cut off: it may not have been told of
// their end. It goes on until the server has answered, and asks once more a little later, for those whose grants were
// on their way to the Locker.
func (s *session) recheck() {
	for {
		select {
		case <-s.ctx.Done():
			return
		case <-s.wakeRecheck:
		}
		if !s.askHeld() || !pace.Sleep(s.ctx, recheckAgain) || !s.askHeld() {
			return
		}
	}
}

// recheckAgain is longer than a grant takes from its answer to the Locker.
const recheckAgain = time.Second

// askHeld reports whether the session lives.
func (s *session) askHeld() bool {
	for backoff := 100 * time.Millisecond; !s.recheckHeld(); backoff = min(2*backoff, time.Second) {
		if !pace.Sleep(s.ctx, pace.Jitter(backoff)) {
			return false
		}
	}
	return s.ctx.Err() == nil
}

// recheckHeld reports whether the server has answered.
func (s *session) recheckHeld() bool {
	leases := s.held()
	var gone []lockrt.HeldLease
	answered := true
	for i, err := range s.Check(s.ctx, leases) {
		switch {
		case errors.Is(err, lockrt.ErrLost):
			gone = append(gone, leases[i])
		case err != nil:
			answered = answered && !retryable(err)
		}
	}
	if len(gone) == 0 {
		return answered
	}
	// A lease that was released while the server was asked is not lost.
	still := make(map[string]bool)
	for _, lease := range s.held() {
		still[lease.ID] = true
	}
	for _, lease := range gone {
		if still[lease.ID] {
			s.Lost(lease.ID, errForgotten)
		}
	}
	return answered
}

func (s *session) held() []lockrt.HeldLease {
	if s.Held == nil {
		return nil
	}
	return s.Held()
}

// brokenLease ends a lease that an operator broke, and then lets the lock go on.
func (s *session) brokenLease(id string, keys lockKeys, reason error) {
	s.Lost(id, reason)
	s.leftovers.Abandon(id, keys, brokenPatience)
}

// brokenPatience is how long it is tried to give back a broken lease. Nobody renews it.
const brokenPatience = time.Minute
