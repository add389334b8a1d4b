package ll3002

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
)

// Structs and arrays that are set as a whole say whether there is a lock: literals, zero values, and copies of them.

type summary struct {
	skipped, tries int
	busy           bool
	status         string
	err            error
	part           struct{ held bool }
}

func summaryOf() summary { return summary{busy: true} }

func emptyLiteral(ctx context.Context, c *redislock.Client) error {
	sum := summary{}
	l, err := c.Obtain(ctx, "k", time.Minute, nil)
	if errors.Is(err, redislock.ErrNotObtained) {
		sum.skipped++
	} else if err != nil {
		return err
	}
	if sum.skipped > 0 {
		return errNoLock
	}
	defer l.Release(ctx)
	return work()
}

func emptyLiteralNever(ctx context.Context, c *redislock.Client) error {
	sum := summary{}
	l, err := c.Obtain(ctx, "k", time.Minute, nil) // want `LL3002: `
	if errors.Is(err, redislock.ErrNotObtained) {
		sum.skipped++
	} else if err != nil {
		return err
	}
	if sum.skipped > 1 {
		return errNoLock
	}
	defer l.Release(ctx)
	return work()
}

func otherField(ctx context.Context, c *redislock.Client) error {
	sum := summary{tries: 3}
	l, err := c.Obtain(ctx, "k", time.Minute, nil)
	if errors.Is(err, redislock.ErrNotObtained) {
		sum.busy = true
	} else if err != nil {
		return err
	}
	if sum.busy {
		return errNoLock
	}
	defer l.Release(ctx)
	return work()
}

func sameField(ctx context.Context, rs *redsync.Redsync) error {
	m, sum := rs.NewMutex("k"), summary{busy: true, status: "free"}
	if m.LockContext(ctx) != nil {
		sum.status = "taken"
	}
	if sum.status == "taken" {
		return errNoLock
	}
	err := work()
	m.UnlockContext(ctx)
	return err
}

func anonymousLiteral(ctx context.Context, rs *redsync.Redsync) error {
	m, st := rs.NewMutex("k"), struct {
		locked bool
		n      int
	}{}
	if m.LockContext(ctx) == nil {
		st.locked = true
	}
	if !st.locked {
		return errNoLock
	}
	err := work()
	m.UnlockContext(ctx)
	return err
}

func errorInLiteral(ctx context.Context, rs *redsync.Redsync) error {
	m := rs.NewMutex("k")
	sum := summary{err: m.LockContext(ctx), tries: 1}
	if sum.err != nil {
		return sum.err
	}
	sum.err = work()
	m.UnlockContext(ctx)
	return sum.err
}

func resetOnFailure(ctx context.Context, rs *redsync.Redsync) error {
	m, sum := rs.NewMutex("k"), summary{busy: true}
	if m.LockContext(ctx) == nil {
		sum = summary{}
	}
	if sum.busy {
		return errNoLock
	}
	err := work()
	m.UnlockContext(ctx)
	return err
}

func setOnFailure(ctx context.Context, rs *redsync.Redsync) error {
	m := rs.NewMutex("k")
	var sum summary
	if m.LockContext(ctx) != nil {
		sum = summary{busy: true}
	}
	if sum.busy {
		return errNoLock
	}
	err := work()
	m.UnlockContext(ctx)
	return err
}

func resetAlways(ctx context.Context, rs *redsync.Redsync) error {
	m := rs.NewMutex("k")
	var sum summary
	if m.LockContext(ctx) != nil { // want `LL3002: `
		sum.busy = true
	}
	sum = summary{tries: 1}
	if sum.busy {
		return errNoLock
	}
	err := work()
	m.UnlockContext(ctx)
	return err
}

func behindPointer(ctx context.Context, rs *redsync.Redsync, sum *summary) error {
	m := rs.NewMutex("k")
	*sum = summary{}
	if m.LockContext(ctx) != nil {
		sum.busy = true
	}
	if sum.busy {
		return errNoLock
	}
	err := work()
	m.UnlockContext(ctx)
	return err
}

func keptUnderPointer(ctx context.Context, rs *redsync.Redsync, sum *summary) error {
	m := rs.NewMutex("k")
	*sum = summary{tries: sum.tries + 1}
	if m.LockContext(ctx) != nil {
		*sum = summary{busy: true, tries: sum.tries}
	}
	if sum.busy {
		return errNoLock
	}
	err := work()
	m.UnlockContext(ctx)
	return err
}

func fieldAsWhole(ctx context.Context, rs *redsync.Redsync) error {
	m, sum := rs.NewMutex("k"), summary{}
	if m.LockContext(ctx) == nil {
		sum.part = struct{ held bool }{true}
	}
	if !sum.part.held {
		return errNoLock
	}
	err := work()
	m.UnlockContext(ctx)
	return err
}

func arrayLiteral(ctx context.Context, rs *redsync.Redsync) error {
	m, failed := rs.NewMutex("k"), [2]bool{true, false}
	if m.LockContext(ctx) != nil {
		failed[1] = true
	}
	if failed[1] {
		return errNoLock
	}
	err := work()
	m.UnlockContext(ctx)
	return err
}

func copyOfStruct(ctx context.Context, rs *redsync.Redsync) error {
	m, sum := rs.NewMutex("k"), summary{}
	if m.LockContext(ctx) != nil {
		sum.busy = true
	}
	again := sum
	if again.busy {
		return errNoLock
	}
	err := work()
	m.UnlockContext(ctx)
	return err
}

func setInFunction(ctx context.Context, rs *redsync.Redsync) error {
	m, sum := rs.NewMutex("k"), summary{tries: 1}
	func() {
		if m.LockContext(ctx) != nil {
			sum = summary{busy: true}
		}
	}()
	if sum.busy {
		return errNoLock
	}
	err := work()
	m.UnlockContext(ctx)
	return err
}

func namedResult(ctx context.Context, rs *redsync.Redsync) (sum summary, err error) {
	m := rs.NewMutex("k")
	if m.LockContext(ctx) != nil {
		return summary{busy: true}, nil
	}
	defer func() {
		if !sum.busy {
			m.UnlockContext(ctx)
		}
	}()
	return summary{tries: 2}, work()
}

func inLoop(ctx context.Context, rs *redsync.Redsync) error {
	m := rs.NewMutex("k")
	for i := range 3 {
		sum := summary{tries: i}
		if m.LockContext(ctx) != nil {
			sum.busy = true
		}
		if sum.busy {
			continue
		}
		err := work()
		m.UnlockContext(ctx)
		return err
	}
	return errNoLock
}

func countedWhole(ctx context.Context, rs *redsync.Redsync) error {
	m, sum := rs.NewMutex("k"), summary{}
	for sum.tries < 3 {
		if m.LockContext(ctx) == nil {
			break
		}
		sum = summary{tries: sum.tries + 1}
	}
	if sum.tries == 3 {
		return errNoLock
	}
	err := work()
	m.UnlockContext(ctx)
	return err
}

func countedWholeNever(ctx context.Context, rs *redsync.Redsync) error {
	m, sum := rs.NewMutex("k"), summary{}
	for sum.tries < 3 {
		if m.LockContext(ctx) == nil { // want `LL3002: `
			break
		}
		sum = summary{tries: sum.tries + 1}
	}
	if sum.tries == 4 {
		return errNoLock
	}
	err := work()
	m.UnlockContext(ctx)
	return err
}

// What comes from elsewhere is not known.

func fromCall(ctx context.Context, rs *redsync.Redsync) error {
	m, sum := rs.NewMutex("k"), summary{}
	if m.LockContext(ctx) != nil { // want `LL3002: `
		sum.busy = true
	}
	sum = summaryOf()
	if sum.busy {
		return errNoLock
	}
	err := work()
	m.UnlockContext(ctx)
	return err
}

func fromPointer(ctx context.Context, rs *redsync.Redsync, other *summary) error {
	m, sum := rs.NewMutex("k"), summary{}
	if m.LockContext(ctx) != nil { // want `LL3002: `
		sum.busy = true
	}
	sum = *other
	if sum.busy {
		return errNoLock
	}
	err := work()
	m.UnlockContext(ctx)
	return err
}

func fromChanged(ctx context.Context, rs *redsync.Redsync) error {
	m, sum, other := rs.NewMutex("k"), summary{}, summary{}
	if m.LockContext(ctx) != nil { // want `LL3002: `
		sum.busy = true
	}
	other.busy = work() == nil
	sum = other
	if sum.busy {
		return errNoLock
	}
	err := work()
	m.UnlockContext(ctx)
	return err
}

func swapped(ctx context.Context, rs *redsync.Redsync) error {
	m, sum, other := rs.NewMutex("k"), summary{busy: true}, summary{}
	if m.LockContext(ctx) == nil { // want `LL3002: `
		sum.busy = false
	}
	sum, other = other, sum
	if sum.busy {
		return errNoLock
	}
	err := work()
	m.UnlockContext(ctx)
	return err
}

func fromGivenAway(ctx context.Context, rs *redsync.Redsync, line string) error {
	m := rs.NewMutex("k")
	var sum, first summary
	if m.LockContext(ctx) != nil { // want `LL3002: `
		first = summary{busy: true}
	}
	fmt.Sscan(line, &first.busy)
	sum = first
	if sum.busy {
		return errNoLock
	}
	err := work()
	m.UnlockContext(ctx)
	return err
}
