package ll3003

import (
	"context"
	"sync/atomic"

	"github.com/go-redsync/redsync/v4"
)

// Flags of sync/atomic by which a lock is released once.

type atomics struct {
	name  string
	held  atomic.Bool
	times int32
}

func releasesOnce(ctx context.Context, rs *redsync.Redsync, work func() error) error {
	m := rs.NewMutex("k")
	if err := m.LockContext(ctx); err != nil {
		return err
	}
	var released atomic.Bool
	release := func() {
		if released.CompareAndSwap(false, true) {
			_, _ = m.UnlockContext(ctx)
		}
	}
	defer release()
	if err := work(); err != nil {
		return err
	}
	release()
	return work()
}

func releasesOnceInverted(ctx context.Context, rs *redsync.Redsync, work func() error) error {
	m := rs.NewMutex("k")
	if err := m.LockContext(ctx); err != nil { // want `LL3003: the lock from Mutex.LockContext is never released`
		return err
	}
	var released atomic.Bool
	release := func() {
		if released.CompareAndSwap(true, false) {
			_, _ = m.UnlockContext(ctx)
		}
	}
	defer release()
	return work()
}

func releasesOnceByFunction(ctx context.Context, rs *redsync.Redsync, work func() error) error {
	m, released := rs.NewMutex("k"), int32(0)
	if err := m.LockContext(ctx); err != nil {
		return err
	}
	defer func() {
		if atomic.CompareAndSwapInt32(&released, 0, 1) {
			_, _ = m.UnlockContext(ctx)
		}
	}()
	return work()
}

func releasesOnceByFunctionInverted(ctx context.Context, rs *redsync.Redsync, work func() error) error {
	m, released := rs.NewMutex("k"), int32(1)
	if err := m.LockContext(ctx); err != nil { // want `LL3003: the lock from Mutex.LockContext is never released`
		return err
	}
	defer func() {
		if atomic.CompareAndSwapInt32(&released, 0, 1) {
			_, _ = m.UnlockContext(ctx)
		}
	}()
	return work()
}

func releasesTheFirstTime(ctx context.Context, rs *redsync.Redsync, work func() error) error {
	m := rs.NewMutex("k")
	if err := m.LockContext(ctx); err != nil {
		return err
	}
	released := new(atomic.Int64)
	defer func() {
		if released.Add(1) == 1 {
			_, _ = m.UnlockContext(ctx)
		}
	}()
	return work()
}

func releasesTheSecondTime(ctx context.Context, rs *redsync.Redsync, work func() error) error {
	m := rs.NewMutex("k")
	if err := m.LockContext(ctx); err != nil { // want `LL3003: the lock from Mutex.LockContext is never released`
		return err
	}
	released := new(atomic.Int64)
	defer func() {
		if released.Add(1) > 1 {
			_, _ = m.UnlockContext(ctx)
		}
	}()
	return work()
}

func swapsField(ctx context.Context, rs *redsync.Redsync, work func() error) error {
	a, m := atomics{name: "k"}, rs.NewMutex("k")
	defer func() {
		if a.held.Swap(false) {
			_, _ = m.UnlockContext(ctx)
		}
	}()
	if err := m.LockContext(ctx); err != nil {
		return err
	}
	a.held.Store(true)
	return work()
}

// The flag is set too late.
func swapsFieldLate(ctx context.Context, rs *redsync.Redsync, work func() error) error {
	a, m := atomics{name: "k"}, rs.NewMutex("k")
	defer func() {
		if a.held.Swap(false) {
			_, _ = m.UnlockContext(ctx)
		}
	}()
	if err := m.LockContext(ctx); err != nil { // want `LL3003: .* the return at line \d+ \(when err != nil\) leaves it held`
		return err
	}
	if err := work(); err != nil {
		return err
	}
	a.held.Store(true)
	return nil
}

func loadsField(ctx context.Context, rs *redsync.Redsync, work func() error) error {
	a, m := &atomics{name: "k"}, rs.NewMutex("k")
	if m.LockContext(ctx) == nil {
		atomic.StoreInt32(&a.times, 1)
	}
	if atomic.LoadInt32(&a.times) == 0 {
		return errTaken
	}
	defer m.UnlockContext(ctx)
	return work()
}

func loadsFieldInverted(ctx context.Context, rs *redsync.Redsync, work func() error) error {
	a, m := &atomics{name: "k"}, rs.NewMutex("k")
	if m.LockContext(ctx) == nil { // want `LL3003: .*\(when atomic.LoadInt32\(&a.times\) == 1\)`
		atomic.StoreInt32(&a.times, 1)
	}
	if atomic.LoadInt32(&a.times) == 1 {
		return errTaken
	}
	m.UnlockContext(ctx)
	return work()
}

// Who has got the function may have released.
func handsOutOnce(ctx context.Context, rs *redsync.Redsync, work func() error) (func(), error) {
	m := rs.NewMutex("k")
	if err := m.LockContext(ctx); err != nil {
		return nil, err
	}
	var released atomic.Bool
	release := func() {
		if released.CompareAndSwap(false, true) {
			_, _ = m.UnlockContext(ctx)
		}
	}
	if err := work(); err != nil {
		release()
		return nil, err
	}
	return release, nil
}

// Here it is not called where work fails.
func handsOutOnceOrNot(ctx context.Context, rs *redsync.Redsync, work func() error) (func(), error) {
	m := rs.NewMutex("k")
	if err := m.LockContext(ctx); err != nil { // want `LL3003: .* the return at line \d+ \(when err != nil\) leaves it held`
		return nil, err
	}
	var released atomic.Bool
	release := func() {
		if released.CompareAndSwap(false, true) {
			_, _ = m.UnlockContext(ctx)
		}
	}
	if err := work(); err != nil {
		return nil, err
	}
	return release, nil
}

// The flag is not one of the lock.
func staysWhereBusy(ctx context.Context, rs *redsync.Redsync, busy *atomic.Bool, work func() error) error {
	m := rs.NewMutex("k")
	if err := m.LockContext(ctx); err != nil { // want `LL3003: .*\(when !busy.CompareAndSwap\(false, true\)\)`
		return err
	}
	if !busy.CompareAndSwap(false, true) {
		return errTaken
	}
	err := work()
	m.UnlockContext(ctx)
	return err
}

// A goroutine sets it.
func loadsWhatAnotherSets(ctx context.Context, rs *redsync.Redsync, work func() error) error {
	m := rs.NewMutex("k")
	if err := m.LockContext(ctx); err != nil { // want `LL3003: .*\(when failed.Load\(\)\)`
		return err
	}
	var failed atomic.Bool
	go func() { failed.Store(work() != nil) }()
	if failed.Load() {
		return errTaken
	}
	m.UnlockContext(ctx)
	return nil
}
