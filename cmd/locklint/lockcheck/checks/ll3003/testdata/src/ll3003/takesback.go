package ll3003

import (
	"context"
	"errors"
	"log"
	"time"
)

// An interface that hands out locks of the program's own and takes them back.

type heldLock struct{ Key, Value string }

type lockManager interface {
	Lock(ctx context.Context, key string, ttl time.Duration) (*heldLock, error)
	WaitToLock(ctx context.Context, key string) (*heldLock, error)
	LockInfo(ctx context.Context, key string) (*heldLock, error)
	Unlock(ctx context.Context, lock *heldLock) error
}

func save(ctx context.Context, m lockManager, store func() error) error {
	lock, err := m.WaitToLock(ctx, "save") // want `LL3003: the lock from lockManager.WaitToLock is not released on every path: the return at line \d+ \(when err != nil\) leaves it held`
	if err != nil {
		log.Print(err)
		return err
	}
	err = store()
	if err != nil {
		return err
	}
	if err := m.Unlock(ctx, lock); err != nil {
		return err
	}
	return nil
}

func saveSafely(ctx context.Context, m lockManager, store func() error) error {
	lock, err := m.Lock(ctx, "save", time.Minute)
	if err != nil {
		return err
	}
	defer m.Unlock(ctx, lock)
	return store()
}

func saveInLiteral(ctx context.Context, m lockManager, store func() error) error {
	lock, err := m.Lock(ctx, "save", time.Minute)
	if err != nil {
		return err
	}
	defer func() {
		if err := m.Unlock(context.WithoutCancel(ctx), lock); err != nil {
			log.Print(err)
		}
	}()
	return store()
}

// begin hands it on.
func begin(ctx context.Context, m lockManager) (*heldLock, error) {
	return m.Lock(ctx, "save", time.Minute)
}

type saving struct{ lock *heldLock }

func beginSaving(ctx context.Context, m lockManager, store func() error) (*saving, error) {
	lock, err := m.Lock(ctx, "save", time.Minute)
	if err != nil {
		return nil, err
	}
	return &saving{lock}, store()
}

// whose only asks.
func whose(ctx context.Context, m lockManager) (string, error) {
	lock, err := m.LockInfo(ctx, "save")
	if err != nil {
		return "", err
	}
	return lock.Value, nil
}

// Documents that are locked for people are no locks, and nobody takes these back.
type docStore interface {
	LockDocument(ctx context.Context, id string) (*document, error)
	Unlock(ctx context.Context, d *document) error
}

type document struct{ text string }

func read(ctx context.Context, s docStore) (string, error) {
	d, err := s.LockDocument(ctx, "a")
	if err != nil {
		return "", err
	}
	if d.text == "" {
		return "", errors.New("empty")
	}
	return d.text, s.Unlock(ctx, d)
}
