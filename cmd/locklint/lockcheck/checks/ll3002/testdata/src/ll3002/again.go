package ll3002

import (
	"context"
	"errors"
	"log"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
)

// An acquire that is tried again by hand: what follows runs with the lock of a later try.

func get(ctx context.Context, c *redislock.Client) *redislock.Lock {
	lock, err := c.Obtain(ctx, "a", time.Minute, nil)
	if err != nil {
		return nil
	}
	return lock
}

func untilThere(ctx context.Context, c *redislock.Client) error {
	lock := get(ctx, c)
	for lock == nil {
		time.Sleep(time.Second)
		lock = get(ctx, c)
	}
	defer lock.Release(ctx)
	return work()
}

func untilNoError(ctx context.Context, c *redislock.Client) error {
	lock, err := c.Obtain(ctx, "a", time.Minute, nil)
	for err != nil {
		time.Sleep(time.Second)
		lock, err = c.Obtain(ctx, "a", time.Minute, nil)
	}
	defer lock.Release(ctx)
	return work()
}

// fromCache looks for the result of whoever has the lock, and only then for the lock again.
func fromCache(ctx context.Context, c *redislock.Client, cached func() (string, error), miss error) (string, error) {
look:
	v, err := cached()
	if errors.Is(err, miss) {
		lock, err := c.Obtain(ctx, "a", time.Minute, nil)
		if err != nil {
			time.Sleep(time.Second)
			goto look
		}
		defer lock.Release(ctx)
	} else if err == nil {
		return v, nil
	}
	return v, work()
}

// fromCacheOnce goes on in the same round.
func fromCacheOnce(ctx context.Context, c *redislock.Client, cached func() (string, error), miss error) (string, error) {
	for range 3 {
		v, err := cached()
		if errors.Is(err, miss) {
			lock, err := c.Obtain(ctx, "a", time.Minute, nil) // want `LL3002: when c.Obtain fails, the code goes on without the lock`
			if err != nil {
				log.Print(err)
			} else {
				defer lock.Release(ctx)
			}
		} else if err == nil {
			return v, nil
		}
		if err := work(); err != nil {
			return v, err
		}
	}
	return "", nil
}

func secondTry(ctx context.Context, c *redislock.Client) error {
	lock, err := c.Obtain(ctx, "a", time.Minute, nil)
	if err != nil {
		time.Sleep(time.Second)
		if lock, err = c.Obtain(ctx, "a", time.Minute, nil); err != nil {
			return err
		}
	}
	defer lock.Release(ctx)
	return work()
}

func secondLock(m *redsync.Mutex) error {
	if err := m.Lock(); err != nil {
		time.Sleep(time.Second)
		if err := m.Lock(); err != nil {
			return err
		}
	}
	defer m.Unlock()
	return work()
}

func otherServer(ctx context.Context, first, second *redislock.Client, obtain func() (*redislock.Lock, error)) error {
	lock, err := first.Obtain(ctx, "a", time.Minute, nil)
	if err != nil {
		lock, err = obtain()
	}
	if err != nil {
		return err
	}
	defer lock.Release(ctx)
	return work()
}

func inLiteral(ctx context.Context, c *redislock.Client) error {
	lock, err := c.Obtain(ctx, "a", time.Minute, nil)
	if err != nil {
		try := func() {
			time.Sleep(time.Second)
			lock, err = c.Obtain(ctx, "a", time.Minute, nil)
		}
		try()
		if err != nil {
			return err
		}
	}
	defer lock.Release(ctx)
	return work()
}

// The second try is refused, too, and nobody looks.
func secondTryLogged(ctx context.Context, c *redislock.Client) error {
	lock, err := c.Obtain(ctx, "a", time.Minute, nil)
	if err != nil {
		time.Sleep(time.Second)
		if lock, err = c.Obtain(ctx, "a", time.Minute, nil); err != nil { // want `LL3002: when c.Obtain fails, the code goes on without the lock`
			log.Println(err)
		}
	}
	defer lock.Release(ctx)
	return work()
}

// elected is the loop of a leader: it asks in each round whether it leads, and tries again where it does not.
type elected struct {
	mu     *redsync.Mutex
	leader bool
}

func (e *elected) tryAcquire() bool {
	if err := e.mu.TryLock(); err != nil {
		return false
	}
	e.leader = true
	return true
}

func (e *elected) isLeader() bool { return e.leader }

func (e *elected) extend() bool {
	ok, err := e.mu.Extend()
	return ok && err == nil
}

func (e *elected) release() { e.mu.Unlock() }

func (e *elected) run(tick, stop <-chan struct{}, gain func()) {
	if e.tryAcquire() {
		gain()
	}
	for {
		select {
		case <-stop:
			return
		case <-tick:
			if e.isLeader() {
				e.extend()
			} else if e.tryAcquire() {
				gain()
			}
		}
	}
}

// rounds leaves its lock behind in one round; what the next round does before it asks for a lock has nothing to do with
// that one.
func rounds(rs *redsync.Redsync, next func() (string, error), broken func(string) bool, handle func(string)) {
	for {
		name, err := next()
		if err != nil {
			return
		}
		mu := rs.NewMutex(name)
		if err := mu.Lock(); err != nil {
			continue
		}
		if broken(name) {
			continue
		}
		handle(name)
		mu.Unlock()
	}
}

type watched struct {
	mu   *redsync.Mutex
	runs *int
}

func (w *watched) shutdown() { w.runs = nil }

// watchdog tries again in each round, and keeps what it gets; what it does when it is stopped is not done without the lock.
func (w *watched) watchdog(stop <-chan struct{}) {
	for {
		select {
		case <-stop:
			w.shutdown()
			return
		default:
			if w.runs == nil {
				err := w.mu.Lock()
				if err == nil {
					w.runs = new(int)
				} else {
					log.Print(err)
				}
			}
			time.Sleep(time.Second)
		}
	}
}
