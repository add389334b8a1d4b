package ll3003

import (
	"context"
	"errors"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
)

// Variables of any type may keep whether there is a lock.

var errTaken = errors.New("taken")

type phase int

const (
	idle phase = iota
	locked
	failed
)

func countsTries(ctx context.Context, rs *redsync.Redsync) error {
	m := rs.NewMutex("k", redsync.WithTries(1))
	var err error
	tries := 0
	for tries < 5 {
		if err = m.LockContext(ctx); err == nil {
			break
		}
		tries++
		time.Sleep(time.Second)
	}
	if tries >= 5 {
		return err
	}
	defer m.UnlockContext(ctx)
	return work()
}

func countsDown(ctx context.Context, rs *redsync.Redsync) error {
	m := rs.NewMutex("k", redsync.WithTries(1))
	tries := 3
	for tries > 0 {
		if err := m.LockContext(ctx); err == nil {
			break
		}
		tries--
		time.Sleep(time.Second)
	}
	if tries == 0 {
		return errTaken
	}
	defer m.UnlockContext(ctx)
	return work()
}

func countsTo(ctx context.Context, rs *redsync.Redsync, most int) error {
	m := rs.NewMutex("k", redsync.WithTries(1))
	i := 0
	for ; i < most; i++ {
		if err := m.LockContext(ctx); err == nil {
			break
		}
		time.Sleep(time.Second)
	}
	if i == most {
		return errTaken
	}
	defer m.UnlockContext(ctx)
	return work()
}

func capturedCount(ctx context.Context, rs *redsync.Redsync) error {
	m := rs.NewMutex("k", redsync.WithTries(1))
	tries := 0
	defer func() { println(tries) }()
	for tries < 5 {
		if m.LockContext(ctx) == nil {
			break
		}
		tries++
		time.Sleep(time.Second)
	}
	if tries >= 5 {
		return errTaken
	}
	defer m.UnlockContext(ctx)
	return work()
}

func waitsFor(ctx context.Context, rs *redsync.Redsync) error {
	m := rs.NewMutex("k", redsync.WithTries(1))
	state := idle
	for state == idle {
		if m.LockContext(ctx) == nil {
			state = locked
		} else if ctx.Err() != nil {
			state = failed
		} else {
			time.Sleep(time.Second)
		}
	}
	switch state {
	case locked:
		defer m.UnlockContext(ctx)
		return work()
	default:
		return errTaken
	}
}

func waitsByName(ctx context.Context, rs *redsync.Redsync) error {
	m := rs.NewMutex("k", redsync.WithTries(1))
	state := "waiting"
	for state == "waiting" {
		switch err := m.LockContext(ctx); {
		case err == nil:
			state = "held"
		case ctx.Err() != nil:
			state = "failed"
		default:
			time.Sleep(time.Second)
		}
	}
	if state != "held" {
		return errTaken
	}
	defer m.UnlockContext(ctx)
	return work()
}

func machine(ctx context.Context, rs *redsync.Redsync) (err error) {
	m := rs.NewMutex("k")
	for s := idle; ; {
		switch s {
		case idle:
			if err = m.LockContext(ctx); err != nil {
				return err
			}
			s = locked
		case locked:
			err = work()
			s = failed
		case failed:
			_, uerr := m.UnlockContext(ctx)
			return errors.Join(err, uerr)
		}
	}
}

func picks(ctx context.Context, c *redislock.Client, names []string) error {
	var l *redislock.Lock
	picked := -1
	for i, n := range names {
		got, err := c.Obtain(ctx, n, time.Minute, nil)
		if err == nil {
			l, picked = got, i
			break
		}
	}
	if picked == -1 {
		return errTaken
	}
	defer l.Release(ctx)
	return work()
}

func picksByName(ctx context.Context, rs *redsync.Redsync, names []string) error {
	var m *redsync.Mutex
	var name string
	for _, n := range names {
		c := rs.NewMutex(n, redsync.WithTries(1))
		if c.LockContext(ctx) == nil {
			m, name = c, n
			break
		}
	}
	if name == "" {
		return errTaken
	}
	defer m.UnlockContext(ctx)
	return work()
}

func successes(ctx context.Context, rs *redsync.Redsync) error {
	m := rs.NewMutex("k", redsync.WithTries(1))
	success := 0
	for i := 0; i < 5; i++ {
		if m.LockContext(ctx) == nil {
			success++
			break
		}
		time.Sleep(time.Second)
	}
	if success == 0 {
		return errTaken
	}
	defer m.UnlockContext(ctx)
	return work()
}

func notesProblem(ctx context.Context, rs *redsync.Redsync) error {
	m := rs.NewMutex("k")
	problem := ""
	if err := m.LockContext(ctx); err != nil {
		problem = err.Error()
	}
	if problem != "" {
		return errors.New(problem)
	}
	defer m.UnlockContext(ctx)
	return work()
}

func httpStatus(ctx context.Context, rs *redsync.Redsync) int {
	m := rs.NewMutex("k")
	status := 200
	if err := m.LockContext(ctx); err != nil {
		status = 409
	}
	if status != 200 {
		return status
	}
	defer m.UnlockContext(ctx)
	if work() != nil {
		return 500
	}
	return status
}

func collects(ctx context.Context, rs *redsync.Redsync) error {
	var errs []error
	m := rs.NewMutex("k")
	if err := m.LockContext(ctx); err != nil {
		errs = append(errs, err)
	}
	if len(errs) > 0 {
		return errors.Join(errs...)
	}
	defer m.UnlockContext(ctx)
	return work()
}

func notesSince(ctx context.Context, rs *redsync.Redsync) error {
	m := rs.NewMutex("k")
	var since *time.Time
	if err := m.LockContext(ctx); err == nil {
		now := time.Now()
		since = &now
	}
	if since == nil {
		return errTaken
	}
	defer m.UnlockContext(ctx)
	println(since)
	return work()
}

func sinceZero(ctx context.Context, rs *redsync.Redsync) error {
	m := rs.NewMutex("k", redsync.WithTries(1))
	var since time.Time
	for since.IsZero() {
		if err := m.LockContext(ctx); err == nil {
			since = time.Now()
		} else if ctx.Err() != nil {
			return err
		} else {
			time.Sleep(time.Second)
		}
	}
	defer m.UnlockContext(ctx)
	return work()
}

func mask(ctx context.Context, rs *redsync.Redsync) error {
	a, b := rs.NewMutex("a"), rs.NewMutex("b")
	var held uint
	defer func() {
		if held&2 != 0 {
			b.UnlockContext(ctx)
		}
		if held&1 != 0 {
			a.UnlockContext(ctx)
		}
	}()
	if err := a.LockContext(ctx); err != nil {
		return err
	}
	held |= 1
	if err := b.LockContext(ctx); err != nil {
		return err
	}
	held |= 2
	return work()
}

func triesWhileTaken(ctx context.Context, rs *redsync.Redsync) error {
	m := rs.NewMutex("k", redsync.WithTries(1))
	for retry := true; retry; {
		err := m.LockContext(ctx)
		retry = errors.Is(err, errTaken)
		if retry {
			time.Sleep(time.Second)
		} else if err != nil {
			return err
		}
	}
	defer m.UnlockContext(ctx)
	return work()
}

// Below, the variable has nothing to do with the outcome, or does not say it.

func limited(ctx context.Context, rs *redsync.Redsync, n int) error {
	m := rs.NewMutex("k")
	if err := m.LockContext(ctx); err != nil { // want `LL3003: the lock from Mutex.LockContext is not released on every path: the return at line \d+ \(when n > 3\)`
		return err
	}
	if n > 3 {
		return errTaken
	}
	defer m.UnlockContext(ctx)
	return work()
}

func countsWork(ctx context.Context, rs *redsync.Redsync, jobs []func() error) error {
	m := rs.NewMutex("k")
	if err := m.LockContext(ctx); err != nil { // want `LL3003: .*\(when bad > 3\)`
		return err
	}
	bad := 0
	for _, job := range jobs {
		if job() != nil {
			bad++
		}
	}
	if bad > 3 {
		return errTaken
	}
	m.UnlockContext(ctx)
	return nil
}

func tooMany(ctx context.Context, rs *redsync.Redsync) error {
	m := rs.NewMutex("k", redsync.WithTries(1))
	tries := 0
	for {
		err := m.LockContext(ctx) // want `LL3003: .*\(when tries > 3\)`
		if err == nil {
			break
		}
		tries++
		time.Sleep(time.Second)
	}
	if tries > 3 {
		return errTaken
	}
	defer m.UnlockContext(ctx)
	return work()
}

func lastTry(ctx context.Context, rs *redsync.Redsync) error {
	m := rs.NewMutex("k", redsync.WithTries(1))
	i := 0
	for ; i < 3; i++ {
		if m.LockContext(ctx) == nil { // want `LL3003: .*\(when i == 2\)`
			break
		}
		time.Sleep(time.Second)
	}
	if i == 3 {
		return errTaken
	}
	if i == 2 {
		return errTaken
	}
	defer m.UnlockContext(ctx)
	return work()
}

func wrongWay(ctx context.Context, rs *redsync.Redsync) error {
	m := rs.NewMutex("k")
	state := idle
	if err := m.LockContext(ctx); err == nil { // want `LL3003: .*\(when state == locked\)`
		state = locked
	}
	if state == locked {
		return errTaken
	}
	return work()
}

// What the work says with the lock is not whether there is one.
func codeOfWork(ctx context.Context, rs *redsync.Redsync, run func() int) error {
	m := rs.NewMutex("k")
	code := 1
	if err := m.LockContext(ctx); err == nil { // want `LL3003: .*\(when code != 0\)`
		code = run()
	}
	if code != 0 {
		return errTaken
	}
	m.UnlockContext(ctx)
	return nil
}

func errorOfWork(ctx context.Context, rs *redsync.Redsync) error {
	m := rs.NewMutex("k")
	err := m.LockContext(ctx) // want `LL3003: .*\(when err != nil\)`
	if err == nil {
		err = work()
	}
	if err != nil {
		return err
	}
	m.UnlockContext(ctx)
	return nil
}

func otherBranch(ctx context.Context, rs *redsync.Redsync, fast bool) error {
	m := rs.NewMutex("k")
	problem := ""
	if err := m.LockContext(ctx); err != nil { // want `LL3003: .*\(when fast\)`
		problem = err.Error()
	}
	if problem != "" {
		return errors.New(problem)
	}
	if fast {
		return nil
	}
	defer m.UnlockContext(ctx)
	return work()
}
