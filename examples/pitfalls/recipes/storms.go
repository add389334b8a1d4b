package recipes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/lockgen/lockgen/examples/pitfalls/internal/lab"
)

// hold is how long everybody keeps the lock in a storm.
const hold = time.Millisecond

// Storm is what a way to wait cost.
type Storm struct {
	Strategy string
	Waiters  int
	Commands float64       // for each acquisition, release included
	Elapsed  time.Duration // until everybody has had the lock
	Longest  time.Duration // wait
}

// Measure lets many take one lock once, all at the same time, in each of the ways to
// wait: five with the recipe, and this library's queue. It takes some seconds. The
// waiters are goroutines of one process; local hand-off, which would spare
// this library most commands, is off.
func Measure(ctx context.Context, open func() *lab.Lab, waiters int) (storms []Storm, err error) {
	for _, strategy := range []string{
		"ask again at once", "yield", "sleep 10 ms", "sleep 200 ms", "sleep twice as long each time",
	} {
		s, err := measure(ctx, open(), strategy, waiters, byHand(strategy))
		if err != nil {
			return nil, fmt.Errorf("measure %q: %w", strategy, err)
		}
		storms = append(storms, s)
	}
	s, err := measure(ctx, open(), "lockgen", waiters, queued)
	return append(storms, s), err
}

// worker takes the lock, holds it, and releases it; it returns how long it waited.
type worker func(ctx context.Context, name string) (time.Duration, error)

func byHand(strategy string) func(*lab.Lab, *lab.Client) (worker, error) {
	return func(l *lab.Lab, c *lab.Client) (worker, error) {
		lock := stormLock{c.Client, l.Key("storm")}
		wait := map[string]func(context.Context, string) error{
			"ask again at once":             lock.LockSpinning,
			"yield":                         lock.LockYielding,
			"sleep 10 ms":                   lock.LockSleeping(fixed(10 * time.Millisecond)),
			"sleep 200 ms":                  lock.LockSleeping(fixed(200 * time.Millisecond)),
			"sleep twice as long each time": lock.LockSleeping(doubling),
		}[strategy]
		return func(ctx context.Context, name string) (time.Duration, error) {
			start := time.Now()
			if err := wait(ctx, name); err != nil {
				return 0, err
			}
			waited := time.Since(start)
			time.Sleep(hold)
			return waited, lock.Unlock(ctx, name)
		}, nil
	}
}

func queued(l *lab.Lab, c *lab.Client) (worker, error) {
	locks, err := l.StrictLocker(c, "storm")
	if err != nil {
		return nil, err
	}
	o := &office{locks}
	return func(ctx context.Context, _ string) (waited time.Duration, err error) {
		start := time.Now()
		err = o.work(ctx, "storm", func(context.Context) error {
			waited = time.Since(start)
			time.Sleep(hold)
			return nil
		})
		return waited, err
	}, nil
}

func measure(ctx context.Context, l *lab.Lab, strategy string, waiters int,
	mk func(*lab.Lab, *lab.Client) (worker, error),
) (s Storm, err error) {
	defer func() { err = errors.Join(err, l.Close()) }()
	c := l.Client()
	work, err := mk(l, c)
	if err != nil {
		return s, err
	}
	waits, errs := make([]time.Duration, waiters), make([]error, waiters)
	before, start := c.Sent(), time.Now()
	var running sync.WaitGroup
	for i := range waiters {
		running.Go(func() { waits[i], errs[i] = work(ctx, fmt.Sprintf("waiter-%d", i)) })
	}
	running.Wait()
	return Storm{
		Strategy: strategy, Waiters: waiters, Elapsed: time.Since(start), Longest: slices.Max(waits),
		Commands: float64(c.Sent()-before) / float64(waiters),
	}, errors.Join(errs...)
}
