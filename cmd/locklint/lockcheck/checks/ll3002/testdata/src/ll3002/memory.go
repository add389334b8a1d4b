package ll3002

import (
	"context"
	"errors"

	"github.com/go-redsync/redsync/v4"
)

// Fields, variables in memory, lengths and methods that say whether there is a lock.

type tracker struct {
	code   int
	locked bool
}

func (t *tracker) mark()        { t.locked = true }
func (t *tracker) isHeld() bool { return t.locked }

func statusOf(ctx context.Context, rs *redsync.Redsync) error {
	m := rs.NewMutex("k")
	var st struct{ code int }
	if m.LockContext(ctx) == nil {
		st.code = 200
	} else {
		st.code = 409
	}
	if st.code == 409 {
		return errNoLock
	}
	err := work()
	m.UnlockContext(ctx)
	return err
}

func statusNever(ctx context.Context, rs *redsync.Redsync) error {
	m := rs.NewMutex("k")
	var st struct{ code int }
	if m.LockContext(ctx) == nil { // want `LL3002: `
		st.code = 200
	} else {
		st.code = 409
	}
	if st.code == 500 {
		return errNoLock
	}
	err := work()
	m.UnlockContext(ctx)
	return err
}

func statusChanged(ctx context.Context, rs *redsync.Redsync) error {
	m := rs.NewMutex("k")
	var st tracker
	if m.LockContext(ctx) == nil { // want `LL3002: `
		st.code = 200
	} else {
		st.code = 409
	}
	change(&st)
	if st.code == 409 {
		return errNoLock
	}
	err := work()
	m.UnlockContext(ctx)
	return err
}

func setOnce(ctx context.Context, rs *redsync.Redsync) error {
	m := rs.NewMutex("k")
	var st struct{ held bool }
	if m.LockContext(ctx) == nil {
		st.held = true
	}
	if !st.held {
		return errNoLock
	}
	err := work()
	m.UnlockContext(ctx)
	return err
}

func setOnceOther(ctx context.Context, rs *redsync.Redsync) error {
	m := rs.NewMutex("k")
	var st struct{ held, other bool }
	if m.LockContext(ctx) == nil { // want `LL3002: `
		st.held = true
	}
	st.other = work() == nil
	if !st.other {
		return errNoLock
	}
	err := work()
	m.UnlockContext(ctx)
	return err
}

func capturedTries(ctx context.Context, rs *redsync.Redsync) error {
	m := rs.NewMutex("k")
	tries := 0
	defer func() { println(tries) }()
	for tries < 3 {
		if m.LockContext(ctx) == nil {
			break
		}
		tries++
	}
	if tries == 3 {
		return errNoLock
	}
	err := work()
	m.UnlockContext(ctx)
	return err
}

func capturedNever(ctx context.Context, rs *redsync.Redsync) error {
	m := rs.NewMutex("k")
	tries := 0
	defer func() { println(tries) }()
	for tries < 3 {
		if m.LockContext(ctx) == nil { // want `LL3002: `
			break
		}
		tries++
	}
	if tries == 4 {
		return errNoLock
	}
	err := work()
	m.UnlockContext(ctx)
	return err
}

func delays(ctx context.Context, rs *redsync.Redsync, delays []int) error {
	m := rs.NewMutex("k")
	i := 0
	for ; i < len(delays); i++ {
		if m.LockContext(ctx) == nil {
			break
		}
	}
	if i == len(delays) {
		return errNoLock
	}
	err := work()
	m.UnlockContext(ctx)
	return err
}

func tracked(ctx context.Context, rs *redsync.Redsync) error {
	m := rs.NewMutex("k")
	t := &tracker{}
	if m.LockContext(ctx) == nil {
		t.mark()
	}
	if !t.isHeld() {
		return errNoLock
	}
	err := work()
	m.UnlockContext(ctx)
	return err
}

func trackedAlways(ctx context.Context, rs *redsync.Redsync) error {
	m := rs.NewMutex("k")
	t := &tracker{}
	if m.LockContext(ctx) == nil { // want `LL3002: `
		t.code = 1
	}
	t.mark()
	if !t.isHeld() {
		return errNoLock
	}
	err := work()
	m.UnlockContext(ctx)
	return err
}

func change(t *tracker) { t.code = len(state()) }

func state() string { return "" }

var errNoLock = errors.New("no lock")
