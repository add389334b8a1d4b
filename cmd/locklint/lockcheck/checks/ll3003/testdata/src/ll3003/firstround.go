package ll3003

import (
	"context"

	"github.com/go-redsync/redsync/v4"
)

// The first round of a loop, which a counter tells from the others, takes the lock.

func locksInFirstRound(ctx context.Context, rs *redsync.Redsync, items []string, work func(string)) error {
	m, n := rs.NewMutex("k"), 0
	for _, it := range items {
		if n == 0 {
			if err := m.LockContext(ctx); err != nil {
				return err
			}
		}
		n++
		work(it)
	}
	if n > 0 {
		m.UnlockContext(ctx)
	}
	return nil
}

// It is released behind the second round.
func unlocksBehindSecondRound(ctx context.Context, rs *redsync.Redsync, items []string, work func(string)) error {
	m, n := rs.NewMutex("k"), 0
	for _, it := range items {
		if n == 0 {
			if err := m.LockContext(ctx); err != nil { // want `LL3003: .* the return at line \d+ \(when n <= 1\) leaves it held`
				return err
			}
		}
		n++
		work(it)
	}
	if n > 1 {
		m.UnlockContext(ctx)
	}
	return nil
}

func locksInEachFirstRound(ctx context.Context, rs *redsync.Redsync, items []string, work func(string)) error {
	m, n := rs.NewMutex("k"), 0
	for _, it := range items {
		if n == 0 {
			if err := m.LockContext(ctx); err != nil {
				return err
			}
		}
		work(it)
		if n++; n == 10 {
			m.UnlockContext(ctx)
			n = 0
		}
	}
	if n > 0 {
		m.UnlockContext(ctx)
	}
	return nil
}

// It is not released where the counter begins anew.
func locksAgainAnew(ctx context.Context, rs *redsync.Redsync, items []string, work func(string)) error {
	m, n := rs.NewMutex("k"), 0
	for _, it := range items {
		if n == 0 {
			if err := m.LockContext(ctx); err != nil { // want `LL3003: .* the next iteration, which acquires again`
				return err
			}
		}
		work(it)
		if n++; n == 10 {
			n = 0
		}
	}
	if n > 0 {
		m.UnlockContext(ctx)
	}
	return nil
}

func locksAtFirstIndex(ctx context.Context, rs *redsync.Redsync, work func(int)) error {
	m := rs.NewMutex("k")
	for i := 0; i < 5; i++ {
		if i == 0 {
			if err := m.LockContext(ctx); err != nil {
				return err
			}
		}
		work(i)
	}
	m.UnlockContext(ctx)
	return nil
}

func locksFromThirdIndex(ctx context.Context, rs *redsync.Redsync, work func(int)) error {
	m := rs.NewMutex("k")
	for i := 0; i < 5; i++ {
		if i >= 2 {
			if err := m.LockContext(ctx); err != nil { // want `LL3003: .* the next iteration, which acquires again`
				return err
			}
		}
		work(i)
	}
	m.UnlockContext(ctx)
	return nil
}

// The counter is a field.
func countsInField(ctx context.Context, rs *redsync.Redsync, items []string, work func(string)) error {
	m := rs.NewMutex("k")
	var a struct{ n int }
	defer func() {
		if a.n > 0 {
			m.UnlockContext(ctx)
		}
	}()
	for _, it := range items {
		if a.n == 0 {
			if err := m.LockContext(ctx); err != nil {
				return err
			}
		}
		a.n++
		work(it)
	}
	return nil
}

// The loop has run where there are items.
func unlocksIfAny(ctx context.Context, rs *redsync.Redsync, items []string, work func(string)) error {
	m := rs.NewMutex("k")
	for i, it := range items {
		if i == 0 {
			if err := m.LockContext(ctx); err != nil {
				return err
			}
		}
		work(it)
	}
	if len(items) > 0 {
		m.UnlockContext(ctx)
	}
	return nil
}

func unlocksIfSeveral(ctx context.Context, rs *redsync.Redsync, items []string, work func(string)) error {
	m := rs.NewMutex("k")
	for i, it := range items {
		if i == 0 {
			if err := m.LockContext(ctx); err != nil { // want `LL3003: .* the return at line \d+ \(when len\(items\) <= 1\) leaves it held`
				return err
			}
		}
		work(it)
	}
	if len(items) > 1 {
		m.UnlockContext(ctx)
	}
	return nil
}
