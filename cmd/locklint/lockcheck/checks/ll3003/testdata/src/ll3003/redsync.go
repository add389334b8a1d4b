package ll3003

import (
	"context"
	"errors"
	"log"
	"testing"
	"time"

	"github.com/go-redsync/redsync/v4"
)

func work() error { return nil }

var errPaid = errors.New("paid")

func never(rs *redsync.Redsync) error {
	mutex := rs.NewMutex("a")
	if err := mutex.Lock(); err != nil { // want `LL3003: the lock from Mutex.Lock is never released: the return at line 22 leaves it held until its TTL`
		return err
	}
	return work()
}

func early(ctx context.Context, rs *redsync.Redsync, paid bool) error {
	mutex := rs.NewMutex("a", redsync.WithExpiry(time.Minute))
	if err := mutex.LockContext(ctx); err != nil { // want `LL3003: the lock from Mutex.LockContext is not released on every path: the return at line 31 \(when paid\) leaves it held`
		return err
	}
	if paid {
		return errPaid
	}
	if err := work(); err != nil {
		mutex.UnlockContext(ctx)
		return err
	}
	_, err := mutex.UnlockContext(ctx)
	return err
}

func captured(rs *redsync.Redsync, paid bool) (err error) {
	mutex := rs.NewMutex("a")
	if err = mutex.TryLock(); err != nil { // want `LL3003: .* the return at line 47 \(when paid\)`
		return err
	}
	if paid {
		return errPaid
	}
	defer func() { mutex.Unlock() }()
	return work()
}

func made(rs *redsync.Redsync) *redsync.Mutex { return rs.NewMutex("b") }

func fromMaker(rs *redsync.Redsync, paid bool) error {
	mutex := made(rs)
	if err := mutex.Lock(); err != nil { // want `LL3003: .* \(when paid\)`
		return err
	}
	if paid {
		return errPaid
	}
	mutex.Unlock()
	return nil
}

func lock(rs *redsync.Redsync, name string) (*redsync.Mutex, error) {
	mutex := rs.NewMutex(name)
	if err := mutex.Lock(); err != nil {
		return nil, err
	}
	return mutex, nil
}

func inherits(rs *redsync.Redsync, paid bool) error {
	mutex, err := lock(rs, "a") // want `LL3003: the lock from lock is not released on every path`
	if err != nil {
		return err
	}
	if paid {
		return errPaid
	}
	unlock(mutex)
	return nil
}

func unlock(m *redsync.Mutex) {
	if ok, err := m.Unlock(); !ok || err != nil {
		log.Println("unlock", ok, err)
	}
}

func loop(rs *redsync.Redsync, names []string) {
	for _, name := range names {
		mutex := rs.NewMutex(name)
		if mutex.Lock() != nil { // want `LL3003: .* the next iteration, which acquires again \(when name == ""\)`
			continue
		}
		if name == "" {
			continue
		}
		mutex.Unlock()
	}
}

// Fine.

func deferred(rs *redsync.Redsync) error {
	mutex := rs.NewMutex("a")
	if err := mutex.Lock(); err != nil {
		return err
	}
	defer mutex.Unlock()
	return work()
}

func deferredFirst(rs *redsync.Redsync) error {
	mutex := rs.NewMutex("a")
	defer mutex.Unlock()
	if err := mutex.Lock(); err != nil {
		return err
	}
	return work()
}

func deferredHelper(rs *redsync.Redsync) error {
	mutex, err := lock(rs, "a")
	if err != nil {
		return err
	}
	defer unlock(mutex)
	return work()
}

func retries(rs *redsync.Redsync) error {
	mutex := rs.NewMutex("a")
	var err error
	for range 3 {
		if err = mutex.Lock(); err == nil {
			break
		}
	}
	if err != nil {
		return err
	}
	defer mutex.Unlock()
	return work()
}

type holder struct{ mutex *redsync.Mutex }

// A mutex in a field: unlocked elsewhere.
func (h *holder) Lock() error { return h.mutex.Lock() }

func (h *holder) LockIf(paid bool) error {
	if err := h.mutex.Lock(); err != nil {
		return err
	}
	if paid {
		h.mutex.Unlock()
		return errPaid
	}
	return nil
}

func newHolder(rs *redsync.Redsync) (*holder, error) {
	h := &holder{rs.NewMutex("a")}
	return h, h.mutex.Lock()
}

func storedBefore(rs *redsync.Redsync, h *holder) error {
	mutex := rs.NewMutex("a")
	h.mutex = mutex
	return mutex.Lock()
}

func unlocker(rs *redsync.Redsync) (func(), error) {
	mutex := rs.NewMutex("a")
	if err := mutex.Lock(); err != nil {
		return nil, err
	}
	return func() { mutex.Unlock() }, nil
}

func cleanup(t *testing.T, rs *redsync.Redsync) {
	mutex := rs.NewMutex("a")
	if err := mutex.Lock(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { mutex.Unlock() })
}

func after(ctx context.Context, rs *redsync.Redsync) error {
	mutex := rs.NewMutex("a")
	if err := mutex.Lock(); err != nil {
		return err
	}
	context.AfterFunc(ctx, func() { mutex.Unlock() })
	return nil
}

func given(m *redsync.Mutex) error { return m.Lock() }

func wasLocked(rs *redsync.Redsync, exclusive bool) error {
	mutex := rs.NewMutex("a")
	locked := false
	if exclusive {
		if err := mutex.Lock(); err != nil {
			return err
		}
		locked = true
	}
	err := work()
	if locked {
		mutex.Unlock()
	}
	return err
}

func dies(rs *redsync.Redsync) {
	mutex := rs.NewMutex("a")
	if err := mutex.Lock(); err != nil {
		log.Fatal(err)
	}
	if work() != nil {
		panic("work")
	}
	mutex.Unlock()
}

func extends(rs *redsync.Redsync, done chan struct{}) error {
	mutex := rs.NewMutex("a")
	if err := mutex.Lock(); err != nil {
		return err
	}
	go func() {
		for range done {
			mutex.Extend()
		}
	}()
	defer mutex.Unlock()
	return work()
}

// A mutex in a field is the type's. It is this function's to unlock where nobody else does.

type till struct {
	mu     *redsync.Mutex
	shared *redsync.Mutex
	Open   *redsync.Mutex
}

func (t *till) alone(paid bool) error {
	if err := t.mu.Lock(); err != nil { // want `LL3003: the lock from Mutex.Lock is not released on every path: the return at line \d+ \(when paid\) leaves it held`
		return err
	}
	if paid {
		return errPaid
	}
	t.mu.Unlock()
	return nil
}

func (t *till) fine() error {
	if err := t.mu.Lock(); err != nil {
		return err
	}
	defer func() { t.mu.Unlock() }()
	return work()
}

func (t *till) lockShared() error {
	if err := t.shared.Lock(); err != nil {
		return err
	}
	if err := work(); err != nil {
		t.shared.Unlock()
		return err
	}
	return nil // unlockShared is for the caller
}

func (t *till) unlockShared() { t.shared.Unlock() }

func (t *till) open(paid bool) error {
	if err := t.Open.Lock(); err != nil {
		return err
	}
	if paid {
		return errPaid // who sees the field may unlock it
	}
	t.Open.Unlock()
	return nil
}

func keptAlive(ctx context.Context, rs *redsync.Redsync, paid bool) error {
	mutex := rs.NewMutex("a")
	if err := mutex.Lock(); err != nil { // want `LL3003: .*when paid`
		return err
	}
	go func() {
		for ctx.Err() == nil {
			_, _ = mutex.Extend()
		}
	}()
	if paid {
		return nil
	}
	_, err := mutex.Unlock()
	return err
}

// A mutex that its maker keeps as well may be unlocked by anybody.

type register struct{ all []*redsync.Mutex }

func (r *register) mutex(rs *redsync.Redsync) *redsync.Mutex {
	m := rs.NewMutex("a")
	r.all = append(r.all, m)
	return m
}

func registered(rs *redsync.Redsync, r *register, paid bool) error {
	m := r.mutex(rs)
	if err := m.Lock(); err != nil {
		return err
	}
	if paid {
		return nil
	}
	_, err := m.Unlock()
	return err
}

// Released where it fails only: a mark that the work is done if it lasts for hours, and else a release that was forgotten.

func forgottenOnSuccess(rs *redsync.Redsync, work func() error) error {
	m := rs.NewMutex("k", redsync.WithExpiry(time.Minute))
	if err := m.Lock(); err != nil { // want `LL3003: the lock from Mutex.Lock is not released on every path`
		return err
	}
	if err := work(); err != nil {
		_, _ = m.Unlock()
		return err
	}
	return nil
}

func marked(rs *redsync.Redsync, work func() error) error {
	m := rs.NewMutex("k", redsync.WithExpiry(24*time.Hour))
	if err := m.Lock(); err != nil {
		return err
	}
	if err := work(); err != nil {
		_, _ = m.Unlock()
		return err
	}
	return nil
}

func longButAlsoReleased(rs *redsync.Redsync, paid bool, work func() error) error {
	m := rs.NewMutex("k", redsync.WithExpiry(24*time.Hour))
	if err := m.Lock(); err != nil { // want `LL3003: the lock from Mutex.Lock is not released on every path`
		return err
	}
	if paid {
		return nil
	}
	if err := work(); err != nil {
		_, _ = m.Unlock()
		return err
	}
	_, err := m.Unlock()
	return err
}

// With a token of its own, by which its caller has another function release it.
func byToken(ctx context.Context, rs *redsync.Redsync, token string) (string, error) {
	mutex := rs.NewMutex("a", redsync.WithGenValueFunc(func() (string, error) { return token, nil }))
	if err := mutex.LockContext(ctx); err != nil {
		return "", err
	}
	return token, nil
}

// The lock is gone where Extend says so: there is nothing to release.
func goneMeanwhile(ctx context.Context, rs *redsync.Redsync) error {
	mutex := rs.NewMutex("a")
	if err := mutex.LockContext(ctx); err != nil {
		return err
	}
	for {
		if err := work(); err != nil {
			_, _ = mutex.Unlock()
			return err
		}
		ok, err := mutex.ExtendContext(ctx)
		if err != nil {
			_, _ = mutex.Unlock()
			return err
		}
		if !ok {
			return errPaid
		}
	}
}
