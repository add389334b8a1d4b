package ll3003

import (
	"context"
	"errors"
	"time"

	"github.com/go-redsync/redsync/v4"
)

// Methods that lock, and then say that they have not.

type guard struct{ mu *redsync.Mutex }

func (g *guard) TryLock(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	if err := g.mu.LockContext(ctx); err != nil { // want `LL3003: the lock from Mutex.LockContext is held when the return at line 22 says that there is none`
		return false
	}
	if ctx.Err() != nil {
		return false
	}
	return true
}

func (g *guard) Lock(ctx context.Context) error {
	if err := g.mu.LockContext(ctx); err != nil { // want `LL3003: the lock from Mutex.LockContext is held when the return at line 32 says`
		return err
	}
	if time.Until(g.mu.Until()) < time.Second {
		return errors.New("too short")
	}
	return nil
}

func (g *guard) Unlock() bool {
	ok, err := g.mu.Unlock()
	return ok && err == nil
}

// These unlock first, or may.

type undoing struct{ mu *redsync.Mutex }

func (u *undoing) TryLock(ctx context.Context) bool {
	if err := u.mu.LockContext(ctx); err != nil {
		return false
	}
	if ctx.Err() != nil {
		u.Unlock()
		return false
	}
	return true
}

func (u *undoing) Lock(ctx context.Context) error {
	if err := u.mu.LockContext(ctx); err != nil {
		return err
	}
	if ctx.Err() != nil {
		u.undo()
		return errors.New("too late")
	}
	return nil
}

func (u *undoing) undo()   { _, _ = u.mu.Unlock() }
func (u *undoing) Unlock() { _, _ = u.mu.Unlock() }

// Each failure is one without the lock.

type retrying struct{ mu *redsync.Mutex }

func (t *retrying) Lock(ctx context.Context) error {
	for range 3 {
		err := t.mu.LockContext(ctx)
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return errors.New("too late")
		}
	}
	return errors.New("busy")
}

func (t *retrying) Unlock() { _, _ = t.mu.Unlock() }
