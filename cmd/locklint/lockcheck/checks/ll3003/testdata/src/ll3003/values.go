package ll3003

import (
	"context"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
)

// Method values: a variable of a function's type that is the release.

func methodValueLeaks(rs *redsync.Redsync, paid bool, work func()) error {
	m := rs.NewMutex("k")
	if err := m.Lock(); err != nil { // want `LL3003: the lock from Mutex.Lock is not released on every path: the return at line \d+ \(when paid\)`
		return err
	}
	unlock := m.Unlock
	if paid {
		return errPaid
	}
	defer unlock()
	work()
	return nil
}

func methodValueOfLock(rs *redsync.Redsync, paid bool, work func()) error {
	m := rs.NewMutex("k")
	lock, unlock := m.Lock, m.Unlock
	if err := lock(); err != nil { // want `LL3003: the lock from Mutex.Lock is not released on every path`
		return err
	}
	if paid {
		return errPaid
	}
	defer unlock()
	work()
	return nil
}

func methodValueOfLease(ctx context.Context, c *redislock.Client, paid bool, work func()) error {
	l, err := c.Obtain(ctx, "k", time.Minute, nil) // want `LL3003: the lock from Obtain is not released on every path`
	if err != nil {
		return err
	}
	release := l.Release
	if paid {
		return errPaid
	}
	work()
	return release(ctx)
}

// Embedded: the methods of the lock are those of the type.

type embedded struct {
	*redsync.Mutex
	name string
}

func embeddedLeaks(rs *redsync.Redsync, paid bool, work func()) error {
	e := &embedded{rs.NewMutex("k"), "k"}
	if err := e.Lock(); err != nil { // want `LL3003: the lock from Mutex.Lock is not released on every path`
		return err
	}
	if paid {
		return errPaid
	}
	defer e.Unlock()
	work()
	return nil
}

func newEmbedded(rs *redsync.Redsync) *embedded {
	return &embedded{Mutex: rs.NewMutex("k")}
}

func embeddedMadeLeaks(rs *redsync.Redsync, paid bool, work func()) error {
	e := newEmbedded(rs)
	if err := e.Lock(); err != nil { // want `LL3003: the lock from Mutex.Lock is not released on every path`
		return err
	}
	if paid {
		return errPaid
	}
	defer e.Unlock()
	work()
	return nil
}

// A field that is no part of the type's methods.

type station struct {
	name string
	mu   *redsync.Mutex
}

func newStation(rs *redsync.Redsync, name string) *station {
	return &station{name: name, mu: rs.NewMutex(name)}
}

func heldLeaks(rs *redsync.Redsync, work func() error) error {
	h := newStation(rs, "h")
	if err := h.mu.Lock(); err != nil { // want `LL3003: the lock from Mutex.Lock is not released on every path`
		return err
	}
	if err := work(); err != nil {
		return err
	}
	_, err := h.mu.Unlock()
	return err
}

// Functions in the fields of a struct that the function makes itself.

type handle struct {
	lock    func() error
	release func() (bool, error)
}

func fieldLeaks(rs *redsync.Redsync, paid bool, work func()) error {
	m := rs.NewMutex("k")
	h := handle{lock: m.Lock, release: m.Unlock}
	if err := h.lock(); err != nil { // want `LL3003: the lock from Mutex.Lock is not released on every path`
		return err
	}
	if paid {
		return errPaid
	}
	defer h.release()
	work()
	return nil
}

// Below is what is fine.

func methodValueDeferred(rs *redsync.Redsync, paid bool, work func()) error {
	m := rs.NewMutex("k")
	if err := m.Lock(); err != nil {
		return err
	}
	unlock := m.Unlock
	defer unlock()
	if paid {
		return errPaid
	}
	work()
	return nil
}

func methodValueBefore(rs *redsync.Redsync, paid bool, work func()) error {
	m := rs.NewMutex("k")
	lock, unlock := m.Lock, m.Unlock
	if err := lock(); err != nil {
		return err
	}
	defer unlock()
	if paid {
		return errPaid
	}
	work()
	return nil
}

func methodValueReturned(rs *redsync.Redsync, paid bool) (func() (bool, error), error) {
	m := rs.NewMutex("k")
	if err := m.Lock(); err != nil {
		return nil, err
	}
	return m.Unlock, nil
}

func methodValueHandedOn(rs *redsync.Redsync, paid bool, later func(func() (bool, error))) error {
	m := rs.NewMutex("k")
	if err := m.Lock(); err != nil {
		return err
	}
	later(m.Unlock)
	if paid {
		return errPaid
	}
	return nil
}

func embeddedDeferred(rs *redsync.Redsync, paid bool, work func()) error {
	e := &embedded{rs.NewMutex("k"), "k"}
	if err := e.Lock(); err != nil {
		return err
	}
	defer e.Unlock()
	if paid {
		return errPaid
	}
	work()
	return nil
}

func embeddedMadeDeferred(rs *redsync.Redsync, paid bool, work func()) error {
	e := newEmbedded(rs)
	if err := e.Lock(); err != nil {
		return err
	}
	defer e.Unlock()
	if paid {
		return errPaid
	}
	work()
	return nil
}

func heldHandedOn(rs *redsync.Redsync, keep func(*station)) error {
	h := newStation(rs, "h")
	if err := h.mu.Lock(); err != nil {
		return err
	}
	println(h.name)
	keep(h)
	return nil
}

func heldStored(rs *redsync.Redsync, all map[string]*station) error {
	h := newStation(rs, "h")
	if err := h.mu.Lock(); err != nil {
		return err
	}
	all[h.name] = h
	return nil
}

func heldReleasedByLiteral(rs *redsync.Redsync, work func() error) error {
	h := newStation(rs, "h")
	if err := h.mu.Lock(); err != nil {
		return err
	}
	defer func() {
		if _, err := h.mu.Unlock(); err != nil {
			println(h.name)
		}
	}()
	return work()
}

func heldReturned(rs *redsync.Redsync) (*station, error) {
	h := newStation(rs, "h")
	if err := h.mu.Lock(); err != nil {
		return nil, err
	}
	return h, nil
}

func heldFromReturned(rs *redsync.Redsync, work func() error) error {
	h, err := heldReturned(rs)
	if err != nil {
		return err
	}
	defer h.mu.Unlock()
	return work()
}

func embeddedReturned(rs *redsync.Redsync) (*embedded, error) {
	e := newEmbedded(rs)
	if err := e.Lock(); err != nil {
		return nil, err
	}
	return e, nil
}

func embeddedByValue(rs *redsync.Redsync, paid bool, work func()) error {
	var e struct{ *redsync.Mutex }
	e.Mutex = rs.NewMutex("k")
	if err := e.Lock(); err != nil {
		return err
	}
	defer e.Unlock()
	if paid {
		return errPaid
	}
	work()
	return nil
}

func fieldDeferred(rs *redsync.Redsync, paid bool, work func()) error {
	m := rs.NewMutex("k")
	h := handle{m.Lock, m.Unlock}
	if err := h.lock(); err != nil {
		return err
	}
	defer h.release()
	if paid {
		return errPaid
	}
	work()
	return nil
}

func fieldReturned(rs *redsync.Redsync) (*handle, error) {
	m := rs.NewMutex("k")
	if err := m.Lock(); err != nil {
		return nil, err
	}
	return &handle{m.Lock, m.Unlock}, nil
}

func fieldKept(rs *redsync.Redsync, h *handle, paid bool) error {
	m := rs.NewMutex("k")
	if err := m.Lock(); err != nil {
		return err
	}
	h.release = m.Unlock
	if paid {
		return errPaid
	}
	return nil
}
