package ll3003

import (
	"context"
	"strings"
	"sync/atomic"

	"github.com/go-redsync/redsync/v4"
)

// Methods, functions of the program and of sync/atomic and strings that say what a variable holds.

func (p phase) isLocked() bool { return p == locked }

func asksMethod(ctx context.Context, rs *redsync.Redsync) error {
	m, p := rs.NewMutex("k"), idle
	if m.LockContext(ctx) == nil {
		p = locked
	}
	if !p.isLocked() {
		return errTaken
	}
	m.UnlockContext(ctx)
	return nil
}

func asksMethodInverted(ctx context.Context, rs *redsync.Redsync) error {
	m, p := rs.NewMutex("k"), idle
	if m.LockContext(ctx) == nil { // want `LL3003: .*\(when p.isLocked\(\)\)`
		p = locked
	}
	if p.isLocked() {
		return errTaken
	}
	m.UnlockContext(ctx)
	return nil
}

func asksMethodOfOther(ctx context.Context, rs *redsync.Redsync) error {
	m, p := rs.NewMutex("k"), idle
	if m.LockContext(ctx) == nil { // want `LL3003: .*\(when !p.isLocked\(\)\)`
		p = failed
	}
	if !p.isLocked() {
		return errTaken
	}
	m.UnlockContext(ctx)
	return nil
}

type tracker struct {
	locked bool
	step   int
}

func (t *tracker) mark()        { t.locked = true }
func (t *tracker) drop()        { t.locked = false }
func (t *tracker) isHeld() bool { return t.locked }
func (t tracker) isFree() bool  { return !t.locked }
func (t *tracker) isDone() bool { return t.step > 2 }
func (t *tracker) flip()        { t.locked = !t.locked }
func (t *tracker) save(to map[string]*tracker) {
	to["k"] = t
}

func asksTracker(ctx context.Context, rs *redsync.Redsync) error {
	m, t := rs.NewMutex("k"), &tracker{}
	if m.LockContext(ctx) == nil {
		t.mark()
	}
	if !t.isHeld() {
		return errTaken
	}
	m.UnlockContext(ctx)
	return nil
}

func asksTrackerInverted(ctx context.Context, rs *redsync.Redsync) error {
	m, t := rs.NewMutex("k"), &tracker{}
	if m.LockContext(ctx) == nil { // want `LL3003: .*\(when t.isHeld\(\)\)`
		t.mark()
	}
	if t.isHeld() {
		return errTaken
	}
	m.UnlockContext(ctx)
	return nil
}

func asksTrackerDropped(ctx context.Context, rs *redsync.Redsync) error {
	m, t := rs.NewMutex("k"), &tracker{}
	if m.LockContext(ctx) == nil { // want `LL3003: `
		t.mark()
	}
	t.drop()
	if !t.isHeld() {
		return errTaken
	}
	m.UnlockContext(ctx)
	return nil
}

func asksTrackerFlipped(ctx context.Context, rs *redsync.Redsync) error {
	m, t := rs.NewMutex("k"), &tracker{}
	if m.LockContext(ctx) == nil { // want `LL3003: .*\(when !t.isHeld\(\)\)`
		t.mark()
	}
	t.flip()
	if !t.isHeld() {
		return errTaken
	}
	m.UnlockContext(ctx)
	return nil
}

func asksTrackerSaved(ctx context.Context, rs *redsync.Redsync, all map[string]*tracker, each func()) error {
	m, t := rs.NewMutex("k"), &tracker{}
	t.save(all)
	if m.LockContext(ctx) == nil { // want `LL3003: .*\(when !t.isHeld\(\)\)`
		t.mark()
	}
	each()
	if !t.isHeld() {
		return errTaken
	}
	m.UnlockContext(ctx)
	return nil
}

func asksTrackerByValue(ctx context.Context, rs *redsync.Redsync) error {
	m, t := rs.NewMutex("k"), tracker{}
	if m.LockContext(ctx) == nil {
		t.locked = true
	}
	if t.isFree() {
		return errTaken
	}
	m.UnlockContext(ctx)
	return nil
}

func asksTrackerByValueInverted(ctx context.Context, rs *redsync.Redsync) error {
	m, t := rs.NewMutex("k"), tracker{}
	if m.LockContext(ctx) == nil { // want `LL3003: .*\(when !t.isFree\(\)\)`
		t.locked = true
	}
	if !t.isFree() {
		return errTaken
	}
	m.UnlockContext(ctx)
	return nil
}

func asksStep(ctx context.Context, rs *redsync.Redsync) error {
	m, t := rs.NewMutex("k"), &tracker{}
	if m.LockContext(ctx) == nil {
		t.step = 3
	}
	if !t.isDone() {
		return errTaken
	}
	m.UnlockContext(ctx)
	return nil
}

func asksStepShort(ctx context.Context, rs *redsync.Redsync) error {
	m, t := rs.NewMutex("k"), &tracker{}
	if m.LockContext(ctx) == nil { // want `LL3003: .*\(when !t.isDone\(\)\)`
		t.step = 2
	}
	if !t.isDone() {
		return errTaken
	}
	m.UnlockContext(ctx)
	return nil
}

// setOfParam sets the same field of two that may be one.
func setOfParam(ctx context.Context, rs *redsync.Redsync, t, other *tracker) error {
	m := rs.NewMutex("k")
	t.locked = m.LockContext(ctx) == nil // want `LL3003: .*\(when !t.locked\)`
	other.drop()
	if !t.locked {
		return errTaken
	}
	m.UnlockContext(ctx)
	return nil
}

func failedWith(err error) bool { return err != nil }

func asksError(ctx context.Context, rs *redsync.Redsync) error {
	m := rs.NewMutex("k")
	err := m.LockContext(ctx)
	if failedWith(err) {
		return err
	}
	m.UnlockContext(ctx)
	return nil
}

func asksErrorInverted(ctx context.Context, rs *redsync.Redsync) error {
	m := rs.NewMutex("k")
	err := m.LockContext(ctx) // want `LL3003: .*\(when !failedWith\(err\)\)`
	if !failedWith(err) {
		return err
	}
	m.UnlockContext(ctx)
	return nil
}

func atomicFlag(ctx context.Context, rs *redsync.Redsync) error {
	m := rs.NewMutex("k")
	var held atomic.Bool
	if m.LockContext(ctx) == nil {
		held.Store(true)
	}
	if !held.Load() {
		return errTaken
	}
	m.UnlockContext(ctx)
	return nil
}

func atomicFlagInverted(ctx context.Context, rs *redsync.Redsync) error {
	m := rs.NewMutex("k")
	var held atomic.Bool
	if m.LockContext(ctx) == nil { // want `LL3003: .*\(when held.Load\(\)\)`
		held.Store(true)
	}
	if held.Load() {
		return errTaken
	}
	m.UnlockContext(ctx)
	return nil
}

func atomicFlagElsewhere(ctx context.Context, rs *redsync.Redsync) error {
	m := rs.NewMutex("k")
	var held atomic.Bool
	go func() {
		<-ctx.Done()
		held.Store(false)
	}()
	if m.LockContext(ctx) == nil { // want `LL3003: .*\(when !held.Load\(\)\)`
		held.Store(true)
	}
	if !held.Load() {
		return errTaken
	}
	m.UnlockContext(ctx)
	return nil
}

func prefix(ctx context.Context, rs *redsync.Redsync) error {
	m, st := rs.NewMutex("k"), "ok"
	if m.LockContext(ctx) != nil {
		st = "err: taken"
	}
	if strings.HasPrefix(st, "err") {
		return errTaken
	}
	m.UnlockContext(ctx)
	return nil
}

func prefixOther(ctx context.Context, rs *redsync.Redsync) error {
	m, st := rs.NewMutex("k"), "ok"
	if m.LockContext(ctx) != nil { // want `LL3003: .*\(when strings.HasPrefix\(st, "ok"\)\)`
		st = "err: taken"
	}
	if strings.HasPrefix(st, "ok") {
		return errTaken
	}
	m.UnlockContext(ctx)
	return nil
}

func boxed(ctx context.Context, rs *redsync.Redsync) error {
	m := rs.NewMutex("k")
	var result any
	if m.LockContext(ctx) == nil {
		result = "held"
	}
	if result == nil {
		return errTaken
	}
	m.UnlockContext(ctx)
	return nil
}

func boxedInverted(ctx context.Context, rs *redsync.Redsync) error {
	m := rs.NewMutex("k")
	var result any
	if m.LockContext(ctx) == nil { // want `LL3003: .*\(when result != nil\)`
		result = "held"
	}
	if result != nil {
		return errTaken
	}
	m.UnlockContext(ctx)
	return nil
}
