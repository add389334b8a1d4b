package ll3003

import (
	"context"
	"errors"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
)

// Structs that are set as a whole say whether there is a lock.

func releasedByLiteral(ctx context.Context, rs *redsync.Redsync) error {
	m, s := rs.NewMutex("k"), outcome{}
	if err := m.LockContext(ctx); err != nil {
		return err
	}
	s = outcome{held: true}
	defer func() {
		if s.held {
			m.UnlockContext(ctx)
		}
	}()
	return workOn(ctx)
}

func resetBeforeRelease(ctx context.Context, rs *redsync.Redsync) error {
	m, s := rs.NewMutex("k"), outcome{held: true}
	if err := m.LockContext(ctx); err != nil { // want `LL3003: `
		return err
	}
	defer func() {
		if s.held {
			m.UnlockContext(ctx)
		}
	}()
	if err := workOn(ctx); err != nil {
		s = outcome{}
		return err
	}
	return nil
}

func busyInLiteral(ctx context.Context, c *redislock.Client) error {
	s := outcome{}
	l, err := c.Obtain(ctx, "k", time.Minute, nil)
	if errors.Is(err, redislock.ErrNotObtained) {
		s.busy = true
	} else if err != nil {
		return err
	}
	if s.busy {
		return errTaken
	}
	defer l.Release(ctx)
	return workOn(ctx)
}

func busyInOther(ctx context.Context, c *redislock.Client) error {
	s := outcome{held: true}
	l, err := c.Obtain(ctx, "k", time.Minute, nil) // want `LL3003: `
	if errors.Is(err, redislock.ErrNotObtained) {
		s.busy = true
		return errTaken
	} else if err != nil {
		return err
	}
	if s.held {
		return errTaken
	}
	defer l.Release(ctx)
	return workOn(ctx)
}

func twoPointers(ctx context.Context, rs *redsync.Redsync, s, other *outcome) error {
	m := rs.NewMutex("k")
	*s = outcome{held: true}
	*other = outcome{}
	if err := m.LockContext(ctx); err != nil { // want `LL3003: `
		return err
	}
	if s.held {
		m.UnlockContext(ctx)
	}
	return nil
}

func resetByCallee(ctx context.Context, rs *redsync.Redsync, s *outcome) error {
	m := rs.NewMutex("k")
	if err := m.LockContext(ctx); err != nil { // want `LL3003: `
		return err
	}
	*s = outcome{held: true}
	resetOutcome(s)
	if s.held {
		m.UnlockContext(ctx)
	}
	return nil
}

func resetByGoroutine(ctx context.Context, rs *redsync.Redsync, done chan bool) error {
	m, s := rs.NewMutex("k"), outcome{}
	if err := m.LockContext(ctx); err != nil { // want `LL3003: `
		return err
	}
	s = outcome{held: true}
	go func() { s = outcome{}; close(done) }()
	<-done
	if s.held {
		m.UnlockContext(ctx)
	}
	return nil
}

func copyBeforeChange(ctx context.Context, rs *redsync.Redsync) error {
	m, s := rs.NewMutex("k"), outcome{}
	before := s
	if err := m.LockContext(ctx); err != nil { // want `LL3003: `
		return err
	}
	s.held = true
	if before.held {
		m.UnlockContext(ctx)
	}
	return nil
}
