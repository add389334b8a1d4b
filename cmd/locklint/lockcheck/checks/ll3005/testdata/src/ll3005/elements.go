package ll3005

import (
	"context"

	"github.com/go-redsync/redsync/v4"
)

// A loop that locks the mutexes of a list releases each with a defer.

func elementDeferred(ms ...*redsync.Mutex) error {
	for _, m := range ms {
		if err := m.Lock(); err != nil {
			return err
		}
		defer m.Unlock()
	}
	return nil
}

func elementByIndex(ms []*redsync.Mutex) error {
	for i := 0; i < len(ms); i++ {
		if err := ms[i].Lock(); err != nil {
			return err
		}
		defer ms[i].Unlock()
	}
	return nil
}

func elementGiven(ms []*redsync.Mutex) error {
	for _, m := range ms {
		if err := m.Lock(); err != nil {
			return err
		}
		defer func(m *redsync.Mutex) { _, _ = m.Unlock() }(m)
	}
	return nil
}

func elementCaptured(ms []*redsync.Mutex) error {
	for i := range ms {
		if err := ms[i].Lock(); err != nil {
			return err
		}
		defer func() { _, _ = ms[i].Unlock() }()
	}
	return nil
}

func elementOfTwo(rs *redsync.Redsync, a, b string) error {
	for _, m := range []*redsync.Mutex{rs.NewMutex(a), rs.NewMutex(b)} {
		if err := m.Lock(); err != nil {
			return err
		}
		defer m.Unlock()
	}
	return nil
}

func elementThatIsFree(ctx context.Context, all []named) (failed int) {
	for _, n := range all {
		if err := n.m.LockContext(ctx); err != nil {
			failed++
			continue
		}
		defer n.m.UnlockContext(ctx)
	}
	return failed
}

func elementOfMap(byKey map[string]*redsync.Mutex) error {
	for _, m := range byKey {
		if err := m.Lock(); err != nil {
			return err
		}
		defer m.Unlock()
	}
	return nil
}

func elementOfLists(lists [][]*redsync.Mutex) error {
	for _, ms := range lists {
		for _, m := range ms {
			if err := m.Lock(); err != nil {
				return err
			}
			defer m.Unlock()
		}
	}
	return nil
}

func elementBeforeTheCheck(ms []*redsync.Mutex) error {
	for _, m := range ms {
		err := m.Lock()
		defer m.Unlock() // want `LL3005: m.Unlock runs also when m.Lock at line \d+ has failed`
		if err != nil {
			return err
		}
	}
	return nil
}

func elementBeforeTheLock(ms []*redsync.Mutex) error {
	for _, m := range ms {
		defer m.Unlock() // want `LL3005: m.Unlock runs also when m.Lock at line \d+ has failed`
		if err := m.Lock(); err != nil {
			return err
		}
	}
	return nil
}

// It is one mutex that every round locks.
func oneInEachRound(m *redsync.Mutex, items []string, work func(string)) error {
	for _, it := range items {
		if err := m.Lock(); err != nil {
			return err
		}
		defer m.Unlock() // want `LL3005: m.Unlock runs also when m.Lock at line \d+ has failed`
		work(it)
	}
	return nil
}

// The whole list is locked again.
func listAgain(ms []*redsync.Mutex, work func() bool) error {
	for work() {
		for _, m := range ms {
			if err := m.Lock(); err != nil {
				return err
			}
			defer m.Unlock() // want `LL3005: m.Unlock runs also when m.Lock at line \d+ has failed`
		}
	}
	return nil
}
