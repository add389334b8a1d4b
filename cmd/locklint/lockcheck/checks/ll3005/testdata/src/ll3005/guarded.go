package ll3005

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/go-redsync/redsync/v4"
)

// Locks that remember whether they are held release nothing when they are not.

type loaded struct {
	m    *redsync.Mutex
	held atomic.Bool
}

func newLoaded(rs *redsync.Redsync) *loaded { return &loaded{m: rs.NewMutex("a")} }

func (l *loaded) Lock(ctx context.Context) error {
	err := l.m.LockContext(ctx)
	l.held.Store(err == nil)
	return err
}

func (l *loaded) Unlock() {
	if l.held.Load() {
		_, _ = l.m.UnlockContext(context.Background())
	}
}

func useLoaded(ctx context.Context, rs *redsync.Redsync, work func() error) error {
	l := newLoaded(rs)
	defer l.Unlock()
	if err := l.Lock(ctx); err != nil {
		return err
	}
	return work()
}

type swapped struct {
	m    *redsync.Mutex
	held atomic.Bool
}

func newSwapped(rs *redsync.Redsync) *swapped { return &swapped{m: rs.NewMutex("a")} }

func (l *swapped) Lock(ctx context.Context) error {
	if err := l.m.LockContext(ctx); err != nil {
		return err
	}
	l.held.Store(true)
	return nil
}

func (l *swapped) Unlock() {
	if !l.held.Swap(false) {
		return
	}
	_, _ = l.m.UnlockContext(context.Background())
}

func useSwapped(ctx context.Context, rs *redsync.Redsync, work func() error) error {
	l := newSwapped(rs)
	defer l.Unlock()
	if err := l.Lock(ctx); err != nil {
		return err
	}
	return work()
}

type exchanged struct {
	m    *redsync.Mutex
	held int32
}

func newExchanged(rs *redsync.Redsync) *exchanged { return &exchanged{m: rs.NewMutex("a")} }

func (l *exchanged) Lock(ctx context.Context) error {
	if err := l.m.LockContext(ctx); err != nil {
		return err
	}
	atomic.StoreInt32(&l.held, 1)
	return nil
}

func (l *exchanged) Unlock() {
	if l == nil || !atomic.CompareAndSwapInt32(&l.held, 1, 0) {
		return
	}
	_, _ = l.m.UnlockContext(context.Background())
}

func useExchanged(ctx context.Context, rs *redsync.Redsync, work func() error) error {
	l := newExchanged(rs)
	defer l.Unlock()
	if err := l.Lock(ctx); err != nil {
		return err
	}
	return work()
}

type once struct {
	m    *redsync.Mutex
	over *sync.Once // of the acquire
}

func newOnce(rs *redsync.Redsync) *once { return &once{m: rs.NewMutex("a")} }

func (l *once) Lock(ctx context.Context) error {
	if err := l.m.LockContext(ctx); err != nil {
		return err
	}
	l.over = new(sync.Once)
	return nil
}

func (l *once) Unlock() {
	if o := l.over; o != nil {
		o.Do(func() { _, _ = l.m.UnlockContext(context.Background()) })
	}
}

func useOnce(ctx context.Context, rs *redsync.Redsync, work func() error) error {
	l := newOnce(rs)
	defer l.Unlock()
	if err := l.Lock(ctx); err != nil {
		return err
	}
	return work()
}

// A flag that says that the lock has been released already is not set when it was never acquired.

type closed struct {
	m    *redsync.Mutex
	done atomic.Bool
}

func newClosed(rs *redsync.Redsync) *closed { return &closed{m: rs.NewMutex("a")} }

func (l *closed) Lock(ctx context.Context) error { return l.m.LockContext(ctx) }

func (l *closed) Unlock() {
	if l.done.CompareAndSwap(false, true) {
		_, _ = l.m.UnlockContext(context.Background())
	}
}

func useClosed(ctx context.Context, rs *redsync.Redsync, work func() error) error {
	l := newClosed(rs)
	defer l.Unlock() // want `LL3005: l.Unlock runs also when l.Lock at line \d+ has failed`
	if err := l.Lock(ctx); err != nil {
		return err
	}
	return work()
}

type twice struct {
	m    *redsync.Mutex
	done atomic.Bool
}

func newTwice(rs *redsync.Redsync) *twice { return &twice{m: rs.NewMutex("a")} }

func (l *twice) Lock(ctx context.Context) error { return l.m.LockContext(ctx) }

func (l *twice) Unlock() {
	if l.done.Swap(true) {
		return
	}
	_, _ = l.m.UnlockContext(context.Background())
}

func useTwice(ctx context.Context, rs *redsync.Redsync, work func() error) error {
	l := newTwice(rs)
	defer l.Unlock() // want `LL3005`
	if err := l.Lock(ctx); err != nil {
		return err
	}
	return work()
}
