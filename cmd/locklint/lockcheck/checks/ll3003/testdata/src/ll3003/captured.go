package ll3003

import (
	"context"
	"errors"
	"log"
	"testing"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
)

// Variables in memory, because a literal captures them or a function is given their address.

func capturedCountExact(ctx context.Context, rs *redsync.Redsync) error {
	m, tries := rs.NewMutex("k"), 0
	defer func() { log.Println("tries:", tries) }()
	for tries < 3 {
		if m.LockContext(ctx) == nil {
			break
		}
		tries++
	}
	if tries == 3 {
		return errTaken
	}
	m.UnlockContext(ctx)
	return nil
}

func capturedCountOff(ctx context.Context, rs *redsync.Redsync) error {
	m, tries := rs.NewMutex("k"), 0
	defer func() { log.Println("tries:", tries) }()
	for tries < 3 {
		if m.LockContext(ctx) == nil { // want `LL3003: .*\(when tries == 2\)`
			break
		}
		tries++
	}
	if tries == 2 {
		return errTaken
	}
	m.UnlockContext(ctx)
	return nil
}

func capturedCountInverted(ctx context.Context, rs *redsync.Redsync) error {
	m, tries := rs.NewMutex("k"), 0
	defer func() { log.Println("tries:", tries) }()
	for tries < 3 {
		if m.LockContext(ctx) == nil { // want `LL3003: .*\(when tries != 3\)`
			break
		}
		tries++
	}
	if tries != 3 {
		return errTaken
	}
	m.UnlockContext(ctx)
	return nil
}

func countOfStruct(ctx context.Context, rs *redsync.Redsync) error {
	var st struct{ tries int }
	m := rs.NewMutex("k")
	for st.tries < 3 {
		if m.LockContext(ctx) == nil {
			break
		}
		st.tries++
	}
	if st.tries == 3 {
		return errTaken
	}
	m.UnlockContext(ctx)
	return nil
}

func countOfStructOff(ctx context.Context, rs *redsync.Redsync) error {
	var st struct{ tries int }
	m := rs.NewMutex("k")
	for st.tries < 3 {
		if m.LockContext(ctx) == nil { // want `LL3003: .*\(when st.tries == 2\)`
			break
		}
		st.tries++
	}
	if st.tries == 2 {
		return errTaken
	}
	m.UnlockContext(ctx)
	return nil
}

// onlyLogged is read by a literal that goes where nobody follows it.
func onlyLogged(ctx context.Context, t *testing.T, rs *redsync.Redsync) error {
	m, held := rs.NewMutex("k"), false
	t.Cleanup(func() { t.Log(held) })
	if m.LockContext(ctx) == nil {
		held = true
	}
	if !held {
		return errTaken
	}
	m.UnlockContext(ctx)
	return nil
}

func setElsewhere(ctx context.Context, rs *redsync.Redsync, each func(func())) error {
	m, held := rs.NewMutex("k"), false
	if m.LockContext(ctx) == nil { // want `LL3003: .*\(when !held\)`
		held = true
	}
	each(func() { held = false })
	if !held {
		return errTaken
	}
	m.UnlockContext(ctx)
	return nil
}

func lostWhileAtWork(ctx context.Context, rs *redsync.Redsync) error {
	m := rs.NewMutex("k")
	if err := m.LockContext(ctx); err != nil {
		return err
	}
	held := true
	defer func() {
		if held {
			m.UnlockContext(ctx)
		}
	}()
	for range 3 {
		if err := work(); err != nil {
			return err
		}
		held, _ = m.ExtendContext(ctx)
		if !held {
			return errTaken
		}
	}
	return nil
}

func lostOrFailed(ctx context.Context, rs *redsync.Redsync) error {
	m := rs.NewMutex("k")
	if err := m.LockContext(ctx); err != nil {
		return err
	}
	held := true
	defer func() {
		if held {
			m.UnlockContext(ctx)
		}
	}()
	for range 3 {
		if err := work(); err != nil {
			return err
		}
		ok, err := m.ExtendContext(ctx)
		if held = ok && err == nil; !held {
			return errTaken
		}
	}
	return nil
}

func lostInverted(ctx context.Context, rs *redsync.Redsync) error {
	m := rs.NewMutex("k")
	if err := m.LockContext(ctx); err != nil { // want `LL3003: `
		return err
	}
	held := true
	defer func() {
		if !held {
			m.UnlockContext(ctx)
		}
	}()
	held, _ = m.ExtendContext(ctx)
	if !held {
		return errTaken
	}
	return work()
}

// lostWhere says of something else that it is gone.
func lostWhere(ctx context.Context, rs *redsync.Redsync, ping func() (bool, error)) error {
	m := rs.NewMutex("k")
	if err := m.LockContext(ctx); err != nil { // want `LL3003: .*\(when !held\)`
		return err
	}
	held := true
	defer func() {
		if held {
			m.UnlockContext(ctx)
		}
	}()
	held, _ = ping()
	if !held {
		return errTaken
	}
	return work()
}

func extendsOrLeaves(ctx context.Context, rs *redsync.Redsync) error {
	m := rs.NewMutex("k")
	if err := m.LockContext(ctx); err != nil {
		return err
	}
	if ok, err := m.ExtendContext(ctx); !ok || err != nil { // of redsync, there is an error only where it is lost
		return errors.Join(errTaken, err)
	}
	m.UnlockContext(ctx)
	return nil
}

func set(flag *bool) { *flag = true }

func setSometimes(flag *bool, really bool) {
	if really {
		*flag = true
	}
}

func show(flag *bool) { println(*flag) }

func setThrough(ctx context.Context, rs *redsync.Redsync) error {
	m, held := rs.NewMutex("k"), false
	show(&held)
	if m.LockContext(ctx) == nil {
		set(&held)
	}
	if !held {
		return errTaken
	}
	m.UnlockContext(ctx)
	return nil
}

func setThroughInverted(ctx context.Context, rs *redsync.Redsync) error {
	m, held := rs.NewMutex("k"), false
	if m.LockContext(ctx) == nil { // want `LL3003: .*\(when held\)`
		set(&held)
	}
	if held {
		return errTaken
	}
	m.UnlockContext(ctx)
	return nil
}

func setThroughField(ctx context.Context, rs *redsync.Redsync) error {
	var p progress
	m := rs.NewMutex("k")
	if m.LockContext(ctx) == nil {
		set(&p.held)
	}
	if !p.held {
		return errTaken
	}
	m.UnlockContext(ctx)
	return nil
}

func setPerhaps(ctx context.Context, rs *redsync.Redsync, really bool) error {
	m, held := rs.NewMutex("k"), false
	if m.LockContext(ctx) == nil { // want `LL3003: .*\(when !held\)`
		setSometimes(&held, really)
	}
	if !held {
		return errTaken
	}
	m.UnlockContext(ctx)
	return nil
}

func setOnceInStruct(ctx context.Context, rs *redsync.Redsync) error {
	var st struct{ held bool }
	m := rs.NewMutex("k")
	if m.LockContext(ctx) == nil {
		st.held = true
	}
	if !st.held {
		return errTaken
	}
	m.UnlockContext(ctx)
	return nil
}

func setOnceInStructInverted(ctx context.Context, rs *redsync.Redsync) error {
	var st struct{ held bool }
	m := rs.NewMutex("k")
	if m.LockContext(ctx) == nil { // want `LL3003: .*\(when st.held\)`
		st.held = true
	}
	if st.held {
		return errTaken
	}
	m.UnlockContext(ctx)
	return nil
}

// A lock in a field of a struct of the function, which a literal releases.

type attempt struct {
	lock     *redislock.Lock
	acquired bool
}

func fieldLate(ctx context.Context, c *redislock.Client) error {
	var a attempt
	defer func() {
		if a.acquired {
			_ = a.lock.Release(context.WithoutCancel(ctx))
		}
	}()
	var err error
	a.lock, err = c.Obtain(ctx, "x", time.Minute, nil) // want `LL3003: the lock from Obtain is not released on every path`
	if err != nil {
		return err
	}
	if err := work(); err != nil {
		return err
	}
	a.acquired = true
	return nil
}

func fieldInTime(ctx context.Context, c *redislock.Client) error {
	var a attempt
	defer func() {
		if a.acquired {
			_ = a.lock.Release(context.WithoutCancel(ctx))
		}
	}()
	var err error
	a.lock, err = c.Obtain(ctx, "x", time.Minute, nil)
	if err != nil {
		return err
	}
	a.acquired = true
	return work()
}

func fieldIfThere(ctx context.Context, c *redislock.Client) (err error) {
	a := &attempt{}
	defer func() {
		if a.lock != nil {
			_ = a.lock.Release(context.WithoutCancel(ctx))
		}
	}()
	if a.lock, err = c.Obtain(ctx, "x", time.Minute, nil); err != nil {
		return err
	}
	return work()
}

func fieldSetInLiteral(ctx context.Context, c *redislock.Client) (err error) {
	var a attempt
	func() { a.lock, err = c.Obtain(ctx, "x", time.Minute, nil) }()
	if err != nil {
		return err
	}
	defer func() { _ = a.lock.Release(context.WithoutCancel(ctx)) }()
	return work()
}

func fieldOfOtherStruct(ctx context.Context, c *redislock.Client) (err error) {
	var a attempt
	var hooks struct{ done func() }
	hooks.done = func() { _ = a.lock.Release(context.WithoutCancel(ctx)) }
	if a.lock, err = c.Obtain(ctx, "x", time.Minute, nil); err != nil {
		return err
	}
	defer hooks.done()
	return work()
}
