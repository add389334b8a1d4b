package asked

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-redsync/redsync/v4"

	"ll3003/asked/kept"
)

// Objects of the program's own that are asked whether they are locked.

func work() error { return nil }

type flagged struct {
	m     *redsync.Mutex
	held  bool
	quiet bool
}

func (f *flagged) Lock(ctx context.Context) error {
	if err := f.m.LockContext(ctx); err != nil {
		return err
	}
	f.held = true
	return nil
}

func (f *flagged) Held() bool { return f.held }

func (f *flagged) Loud() bool { return !f.quiet }

func (f *flagged) Unlock(ctx context.Context) {
	f.held = false
	_, _ = f.m.UnlockContext(ctx)
}

func newFlagged(rs *redsync.Redsync) *flagged { return &flagged{m: rs.NewMutex("x")} }

func askedInDefer(ctx context.Context, rs *redsync.Redsync) error {
	l := &flagged{m: rs.NewMutex("x")}
	if err := l.Lock(ctx); err != nil {
		return err
	}
	defer func() {
		if l.held {
			l.Unlock(context.WithoutCancel(ctx))
		}
	}()
	return work()
}

func askedInDeferFirst(ctx context.Context, rs *redsync.Redsync) error {
	l := &flagged{m: rs.NewMutex("x")}
	defer func() {
		if l.held {
			l.Unlock(context.WithoutCancel(ctx))
		}
	}()
	if err := l.Lock(ctx); err != nil {
		return err
	}
	return work()
}

func askedAtTheEnd(ctx context.Context, rs *redsync.Redsync) error {
	l := newFlagged(rs)
	if err := l.Lock(ctx); err != nil {
		return err
	}
	err := work()
	if held := l.held; held {
		l.Unlock(context.WithoutCancel(ctx))
	}
	return err
}

func askedByMethod(ctx context.Context, rs *redsync.Redsync) error {
	l := &flagged{m: rs.NewMutex("x")}
	if err := l.Lock(ctx); err != nil {
		return err
	}
	err := work()
	if l.Held() {
		l.Unlock(context.WithoutCancel(ctx))
	}
	return err
}

func askedElsewhere(ctx context.Context, rs *redsync.Redsync) error {
	l := &kept.Kept{M: rs.NewMutex("x")}
	if err := l.Lock(ctx); err != nil {
		return err
	}
	err := work()
	if l.Held() {
		l.Unlock(context.WithoutCancel(ctx))
	}
	return err
}

func askedRounds(ctx context.Context, rs *redsync.Redsync) error {
	for range 3 {
		l := &flagged{m: rs.NewMutex("x")}
		if err := l.Lock(ctx); err != nil {
			return err
		}
		err := work()
		if l.held {
			l.Unlock(context.WithoutCancel(ctx))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Where the lock is there, it is left behind as any other.
func askedThenLost(ctx context.Context, rs *redsync.Redsync) error {
	l := &flagged{m: rs.NewMutex("x")}
	if err := l.Lock(ctx); err != nil { // want `LL3003: the lock from flagged.Lock is not released on every path`
		return err
	}
	if l.Held() {
		if err := work(); err != nil {
			return err
		}
		l.Unlock(context.WithoutCancel(ctx))
	}
	return nil
}

func askedTheWrongWay(ctx context.Context, rs *redsync.Redsync) error {
	l := &flagged{m: rs.NewMutex("x")}
	if err := l.Lock(ctx); err != nil { // want `LL3003: the lock from flagged.Lock is not released on every path`
		return err
	}
	defer func() {
		if !l.held {
			l.Unlock(context.WithoutCancel(ctx))
		}
	}()
	return work()
}

// A flag that the methods do not set says nothing of the lock.
func askedOther(ctx context.Context, rs *redsync.Redsync, quiet bool) error {
	l := &flagged{m: rs.NewMutex("x"), quiet: quiet}
	if err := l.Lock(ctx); err != nil { // want `LL3003: the lock from flagged.Lock is not released on every path`
		return err
	}
	defer func() {
		if !l.quiet {
			l.Unlock(context.WithoutCancel(ctx))
		}
	}()
	return work()
}

func askedOtherByMethod(ctx context.Context, rs *redsync.Redsync, quiet bool) error {
	l := &flagged{m: rs.NewMutex("x"), quiet: quiet}
	if err := l.Lock(ctx); err != nil { // want `LL3003: the lock from flagged.Lock is not released on every path`
		return err
	}
	err := work()
	if l.Loud() {
		l.Unlock(context.WithoutCancel(ctx))
	}
	return err
}

func askedOtherElsewhere(ctx context.Context, rs *redsync.Redsync, quiet bool) error {
	l := &kept.Kept{M: rs.NewMutex("x"), Quiet: quiet}
	if err := l.Lock(ctx); err != nil { // want `LL3003: the lock from Kept.Lock is not released on every path`
		return err
	}
	err := work()
	if l.Loud() {
		l.Unlock(context.WithoutCancel(ctx))
	}
	return err
}

// An interface may hide the object.

type held interface {
	Lock(ctx context.Context) error
	Unlock(ctx context.Context)
	Held() bool
	Loud() bool
}

func newHeld(rs *redsync.Redsync) held { return &flagged{m: rs.NewMutex("x")} }

func askedBehind(ctx context.Context, rs *redsync.Redsync) error {
	l := newHeld(rs)
	if err := l.Lock(ctx); err != nil {
		return err
	}
	err := work()
	if l.Held() {
		l.Unlock(context.WithoutCancel(ctx))
	}
	return err
}

func askedBehindTheWrongWay(ctx context.Context, rs *redsync.Redsync) error {
	l := newHeld(rs)
	if err := l.Lock(ctx); err != nil { // want `LL3003: the lock from held.Lock is not released on every path`
		return err
	}
	err := work()
	if !l.Held() {
		l.Unlock(context.WithoutCancel(ctx))
	}
	return err
}

func askedBehindOther(ctx context.Context, rs *redsync.Redsync) error {
	l := newHeld(rs)
	if err := l.Lock(ctx); err != nil { // want `LL3003: the lock from held.Lock is not released on every path`
		return err
	}
	err := work()
	if l.Loud() {
		l.Unlock(context.WithoutCancel(ctx))
	}
	return err
}

// Of several objects nobody knows which one answers.

type either interface {
	Lock(ctx context.Context) error
	Unlock(ctx context.Context)
	Held() bool
}

func newEither(rs *redsync.Redsync) either { return &flagged{m: rs.NewMutex("x")} }

func askedEither(ctx context.Context, rs *redsync.Redsync) error {
	l := newEither(rs)
	if err := l.Lock(ctx); err != nil {
		return err
	}
	err := work()
	if l.Held() {
		l.Unlock(context.WithoutCancel(ctx))
	}
	return err
}

func askedEitherLater(ctx context.Context, rs *redsync.Redsync) error {
	l := newEither(rs)
	if err := l.Lock(ctx); err != nil { // want `LL3003: the lock from either.Lock is not released on every path`
		return err
	}
	if err := work(); err != nil {
		return err
	}
	if l.Held() {
		l.Unlock(context.WithoutCancel(ctx))
	}
	return nil
}

// The flag may be one of sync/atomic.

type atomically struct {
	m    *redsync.Mutex
	held atomic.Bool
}

func (a *atomically) Lock(ctx context.Context) error {
	err := a.m.LockContext(ctx)
	a.held.Store(err == nil)
	return err
}

func (a *atomically) Unlock(ctx context.Context) {
	a.held.Store(false)
	_, _ = a.m.UnlockContext(ctx)
}

func askedAtomically(ctx context.Context, rs *redsync.Redsync) error {
	l := &atomically{m: rs.NewMutex("x")}
	if err := l.Lock(ctx); err != nil {
		return err
	}
	err := work()
	if l.held.Load() {
		l.Unlock(context.WithoutCancel(ctx))
	}
	return err
}

func askedAtomicallyTheWrongWay(ctx context.Context, rs *redsync.Redsync) error {
	l := &atomically{m: rs.NewMutex("x")}
	if err := l.Lock(ctx); err != nil { // want `LL3003: the lock from atomically.Lock is not released on every path`
		return err
	}
	err := work()
	if !l.held.Load() {
		l.Unlock(context.WithoutCancel(ctx))
	}
	return err
}

// What is over is noted in the background.

type watched struct {
	m    *redsync.Mutex
	held bool
}

func (w *watched) Lock(ctx context.Context) error {
	if err := w.m.LockContext(ctx); err != nil {
		return err
	}
	w.held = true
	go func() {
		<-ctx.Done()
		w.held = false
	}()
	return nil
}

func (w *watched) Unlock(ctx context.Context) { _, _ = w.m.UnlockContext(ctx) }

func askedWatched(ctx context.Context, rs *redsync.Redsync) error {
	l := &watched{m: rs.NewMutex("x")}
	if err := l.Lock(ctx); err != nil {
		return err
	}
	err := work()
	if l.held {
		l.Unlock(context.WithoutCancel(ctx))
	}
	return err
}

func askedWatchedTheWrongWay(ctx context.Context, rs *redsync.Redsync) error {
	l := &watched{m: rs.NewMutex("x")}
	if err := l.Lock(ctx); err != nil { // want `LL3003: the lock from watched.Lock is not released on every path`
		return err
	}
	err := work()
	if !l.held {
		l.Unlock(context.WithoutCancel(ctx))
	}
	return err
}

// What numbers and times say is not known: who asks them is believed.

type counted struct {
	mu    sync.Mutex
	m     *redsync.Mutex
	n     int
	until time.Time
}

func (c *counted) Lock(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.m.LockContext(ctx); err != nil {
		return err
	}
	c.n++
	c.until = time.Now().Add(time.Minute)
	return nil
}

func (c *counted) Held() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n > 0 && time.Now().Before(c.until)
}

func (c *counted) Unlock(ctx context.Context) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n--
	_, _ = c.m.UnlockContext(ctx)
}

func askedCounted(ctx context.Context, rs *redsync.Redsync) error {
	l := &counted{m: rs.NewMutex("x")}
	if err := l.Lock(ctx); err != nil {
		return err
	}
	defer func() {
		if l.Held() {
			l.Unlock(context.WithoutCancel(ctx))
		}
	}()
	return work()
}

func askedCounter(ctx context.Context, rs *redsync.Redsync) error {
	l := &counted{m: rs.NewMutex("x")}
	if err := l.Lock(ctx); err != nil {
		return err
	}
	err := work()
	if l.n > 0 {
		l.Unlock(context.WithoutCancel(ctx))
	}
	return err
}

func askedTime(ctx context.Context, rs *redsync.Redsync) error {
	l := &counted{m: rs.NewMutex("x")}
	if err := l.Lock(ctx); err != nil {
		return err
	}
	err := work()
	if time.Now().Before(l.until) {
		l.Unlock(context.WithoutCancel(ctx))
	}
	return err
}

func askedLater(ctx context.Context, rs *redsync.Redsync) error {
	l := &counted{m: rs.NewMutex("x")}
	if err := l.Lock(ctx); err != nil { // want `LL3003: the lock from counted.Lock is not released on every path`
		return err
	}
	if err := work(); err != nil {
		return err
	}
	if l.Held() {
		l.Unlock(context.WithoutCancel(ctx))
	}
	return nil
}
