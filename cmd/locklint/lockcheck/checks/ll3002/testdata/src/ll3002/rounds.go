package ll3002

import (
	"context"
	"log"

	"github.com/go-redsync/redsync/v4"
)

// Counters that go with a loop over a list, and are compared with its length.

func countedToEnd(ctx context.Context, ms []*redsync.Mutex) error {
	locked := 0
	for _, m := range ms {
		if err := m.LockContext(ctx); err != nil {
			break
		}
		locked++
	}
	defer func() {
		for _, m := range ms[:locked] {
			m.UnlockContext(ctx)
		}
	}()
	if locked < len(ms) {
		return errNoLock
	}
	return work()
}

func countedOnStack(ctx context.Context, rs *redsync.Redsync) error {
	locked := 0
	ms := []*redsync.Mutex{rs.NewMutex("a"), rs.NewMutex("b")}
	for _, m := range ms {
		if err := m.LockContext(ctx); err != nil {
			break
		}
		locked++
	}
	if len(ms) != locked {
		for _, m := range ms[:locked] {
			m.UnlockContext(ctx)
		}
		return errNoLock
	}
	err := work()
	for _, m := range ms {
		m.UnlockContext(ctx)
	}
	return err
}

func countedMade(ctx context.Context, rs *redsync.Redsync, names []string) error {
	ms := make([]*redsync.Mutex, len(names))
	for i, n := range names {
		ms[i] = rs.NewMutex(n)
	}
	var locked int
	for i := 0; i < len(ms); i++ {
		if err := ms[i].LockContext(ctx); err != nil {
			break
		}
		locked++
	}
	defer func() {
		for _, m := range ms[:locked] {
			m.UnlockContext(ctx)
		}
	}()
	if locked == len(ms) {
		return work()
	}
	return errNoLock
}

func countedByIndex(ctx context.Context, ms []*redsync.Mutex) error {
	locked := 0
	for i, m := range ms {
		if err := m.LockContext(ctx); err != nil {
			break
		}
		locked = i + 1
	}
	if locked < len(ms) {
		return errNoLock
	}
	err := work()
	for _, m := range ms {
		m.UnlockContext(ctx)
	}
	return err
}

func countedInField(ctx context.Context, ms []*redsync.Mutex) error {
	sum := summary{}
	for _, m := range ms {
		if err := m.LockContext(ctx); err != nil {
			break
		}
		sum.tries++
	}
	if sum.tries < len(ms) {
		return errNoLock
	}
	err := work()
	for _, m := range ms {
		m.UnlockContext(ctx)
	}
	return err
}

func countedFromCall(ctx context.Context, ms []*redsync.Mutex) error {
	sum := summary{}
	sum = summaryOf()
	for _, m := range ms {
		if err := m.LockContext(ctx); err != nil { // want `LL3002: `
			break
		}
		sum.tries++
	}
	if sum.tries < len(ms) {
		return errNoLock
	}
	err := work()
	for _, m := range ms {
		m.UnlockContext(ctx)
	}
	return err
}

func countedFromOne(ctx context.Context, ms []*redsync.Mutex) error {
	sum := summary{tries: 1}
	for _, m := range ms {
		if err := m.LockContext(ctx); err != nil { // want `LL3002: `
			break
		}
		sum.tries++
	}
	if sum.tries < len(ms) {
		return errNoLock
	}
	err := work()
	for _, m := range ms {
		m.UnlockContext(ctx)
	}
	return err
}

func sevenOf(n *int) { *n = 7 }

func countedByCallee(ctx context.Context, ms []*redsync.Mutex) error {
	locked := 0
	for _, m := range ms {
		if err := m.LockContext(ctx); err != nil { // want `LL3002: `
			sevenOf(&locked)
			break
		}
		locked++
	}
	if locked < len(ms) {
		return errNoLock
	}
	err := work()
	for _, m := range ms {
		m.UnlockContext(ctx)
	}
	return err
}

func countedWrongWay(ctx context.Context, ms []*redsync.Mutex) error {
	locked := 0
	for _, m := range ms {
		if err := m.LockContext(ctx); err != nil { // want `LL3002: `
			break
		}
		locked++
	}
	if locked > len(ms) {
		return errNoLock
	}
	err := work()
	for _, m := range ms[:locked] {
		m.UnlockContext(ctx)
	}
	return err
}

func countedBefore(ctx context.Context, ms []*redsync.Mutex) error {
	tried := 0
	for _, m := range ms {
		tried++
		if err := m.LockContext(ctx); err != nil { // want `LL3002: `
			break
		}
	}
	if tried < len(ms) {
		return errNoLock
	}
	err := work()
	for _, m := range ms {
		m.UnlockContext(ctx)
	}
	return err
}

func countedBeforeCaptured(ctx context.Context, ms []*redsync.Mutex) error {
	tried := 0
	defer func() { println(tried) }()
	for _, m := range ms {
		tried++
		if err := m.LockContext(ctx); err != nil { // want `LL3002: `
			break
		}
	}
	if tried < len(ms) {
		return errNoLock
	}
	err := work()
	for _, m := range ms {
		m.UnlockContext(ctx)
	}
	return err
}

func countedLast(ctx context.Context, ms []*redsync.Mutex) error {
	last := 0
	for i, m := range ms {
		if err := m.LockContext(ctx); err != nil { // want `LL3002: `
			break
		}
		last = i
	}
	if last < len(ms) {
		log.Println(last)
	}
	err := work()
	for _, m := range ms {
		m.UnlockContext(ctx)
	}
	return err
}

func countedSome(ctx context.Context, ms []*redsync.Mutex) error {
	locked := 0
	for i, m := range ms {
		if err := m.LockContext(ctx); err != nil { // want `LL3002: `
			break
		}
		if i%2 == 0 {
			locked++
		}
	}
	if locked < len(ms) {
		return errNoLock
	}
	err := work()
	for _, m := range ms {
		m.UnlockContext(ctx)
	}
	return err
}

func countedOn(ctx context.Context, ms, more []*redsync.Mutex) error {
	locked := 0
	defer func() { println(locked) }()
	for range more {
		for _, m := range ms {
			if err := m.LockContext(ctx); err != nil { // want `LL3002: `
				break
			}
			locked++
		}
		if locked < len(ms) {
			return errNoLock
		}
		work()
		for _, m := range ms {
			m.UnlockContext(ctx)
		}
	}
	return nil
}

func countedOther(ctx context.Context, ms, more []*redsync.Mutex) error {
	locked := 0
	for _, m := range ms {
		if err := m.LockContext(ctx); err != nil { // want `LL3002: `
			break
		}
		locked++
	}
	if locked < len(more) {
		return errNoLock
	}
	err := work()
	for _, m := range ms {
		m.UnlockContext(ctx)
	}
	return err
}

func countedShortened(ctx context.Context, ms []*redsync.Mutex) error {
	locked := 0
	defer func() { println(locked, len(ms)) }()
	for _, m := range ms {
		if err := m.LockContext(ctx); err != nil { // want `LL3002: `
			ms = ms[:locked]
			break
		}
		locked++
	}
	if locked < len(ms) {
		return errNoLock
	}
	err := work()
	for _, m := range ms {
		m.UnlockContext(ctx)
	}
	return err
}
