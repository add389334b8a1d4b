package storetest_test

import (
	"context"
	"time"

	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/memstore"
)

// badStore is the memory store with a fault.
type badStore struct {
	*memstore.Store
	fault fault
}

func (s badStore) Open(cfg lockrt.SessionConfig) (lockrt.Session, error) {
	if s.fault.open != nil {
		s.fault.open(&cfg)
	}
	good, err := s.Store.Open(cfg)
	if err != nil {
		return nil, err
	}
	b := &badSession{fullSession: good.(fullSession), closed: make(chan struct{})}
	if s.fault.bad != nil {
		s.fault.bad(b)
	}
	return b, nil
}

type fullSession interface {
	lockrt.Session
	lockrt.Inspector
	lockrt.Breaker
	lockrt.Sharer
	lockrt.Downgrader
}

// badSession does what the real one does, or what the function says that stands for a method.
type badSession struct {
	fullSession
	acquire func(context.Context, lockrt.Request) (lockrt.Grant, error)
	renew   func(context.Context, []lockrt.Renewal) []error
	release func(context.Context, lockrt.Release) error
	list    func(context.Context, string) ([]lockrt.LockInfo, error)
	brk     func(context.Context, lockrt.Breaking) error
	down    func(context.Context, lockrt.Downgrading) (uint64, error)
	close   func(context.Context) error
	closed  chan struct{}
}

func (b *badSession) Acquire(ctx context.Context, req lockrt.Request) (lockrt.Grant, error) {
	if b.acquire != nil {
		return b.acquire(ctx, req)
	}
	return b.fullSession.Acquire(ctx, req)
}

func (b *badSession) Renew(ctx context.Context, renewals []lockrt.Renewal) []error {
	if b.renew != nil {
		return b.renew(ctx, renewals)
	}
	return b.fullSession.Renew(ctx, renewals)
}

func (b *badSession) Release(ctx context.Context, rel lockrt.Release) error {
	if b.release != nil {
		return b.release(ctx, rel)
	}
	return b.fullSession.Release(ctx, rel)
}

func (b *badSession) List(ctx context.Context, prefix string) ([]lockrt.LockInfo, error) {
	if b.list != nil {
		return b.list(ctx, prefix)
	}
	return b.fullSession.List(ctx, prefix)
}

func (b *badSession) Break(ctx context.Context, br lockrt.Breaking) error {
	if b.brk != nil {
		return b.brk(ctx, br)
	}
	return b.fullSession.Break(ctx, br)
}

func (b *badSession) Downgrade(ctx context.Context, d lockrt.Downgrading) (uint64, error) {
	if b.down != nil {
		return b.down(ctx, d)
	}
	return b.fullSession.Downgrade(ctx, d)
}

func (b *badSession) Close(ctx context.Context) error {
	if b.close != nil {
		return b.close(ctx)
	}
	return b.fullSession.Close(ctx)
}

type outcome struct {
	grant lockrt.Grant
	err   error
}

// start acquires in the background.
func (b *badSession) start(ctx context.Context, req lockrt.Request) <-chan outcome {
	done := make(chan outcome, 1)
	go func() {
		g, err := b.fullSession.Acquire(ctx, req)
		done <- outcome{g, err}
	}()
	return done
}

// keepCrossing gives up waiting by itself, and keeps what comes in that moment.
func keepCrossing(b *badSession) {
	b.close = func(context.Context) error {
		close(b.closed)
		return nil
	}
	b.acquire = func(ctx context.Context, req lockrt.Request) (lockrt.Grant, error) {
		if req.Wait == 0 {
			return b.fullSession.Acquire(ctx, req)
		}
		var budget <-chan time.Time
		if req.Wait != lockrt.Forever {
			budget = time.After(req.Wait)
		}
		req.Wait = lockrt.Forever
		inner, leave := context.WithCancel(context.WithoutCancel(ctx))
		defer leave()
		done := b.start(inner, req)
		var why error
		select {
		case o := <-done:
			return o.grant, o.err
		case <-ctx.Done():
			why = ctx.Err()
		case <-budget:
			why = &lockrt.BusyError{Key: req.Key}
		case <-b.closed:
			why = lockrt.ErrClosed
		}
		leave()
		<-done
		return lockrt.Grant{}, why
	}
}

// aloneStore is a sound store whose locks are held by one at a time.
type aloneStore struct{ *memstore.Store }

func (s aloneStore) Open(cfg lockrt.SessionConfig) (lockrt.Session, error) {
	full, err := s.Store.Open(cfg)
	return struct{ lockrt.Session }{full}, err
}
