package ll3002

import (
	"errors"

	"github.com/go-redsync/redsync/v4"
)

// Errors that are joined are nil only where all of them are.

func both(a, b *redsync.Mutex) error {
	errA, errB := a.Lock(), b.Lock()
	if errA == nil {
		defer a.Unlock()
	}
	if errB == nil {
		defer b.Unlock()
	}
	if err := errors.Join(errA, errB); err != nil {
		return err
	}
	return work()
}

func notAmongThem(a *redsync.Mutex, first, second error) error {
	err := a.Lock() // want `LL3002: when a.Lock fails, the code goes on without the lock: work at line \d+ runs either way`
	if err == nil {
		defer a.Unlock()
	}
	if err := errors.Join(first, second); err != nil {
		return err
	}
	return work()
}
