package ll3005

import (
	"context"
	"database/sql"
	"log"
	"sync"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
)

// The fix moves a defer across nothing but the error check of its own acquire. Here something else lies in between, and
// there is none.

func returnBetween(ctx context.Context, c *redislock.Client, skip bool) error {
	l, err := c.Obtain(ctx, "k", time.Minute, nil)
	defer l.Release(ctx) // want `LL3005: l.Release runs also when c.Obtain at line \d+ has failed`
	if skip {
		return nil
	}
	if err != nil {
		return err
	}
	return work()
}

func deferBetween(ctx context.Context, c *redislock.Client, tx *sql.Tx) error {
	l, err := c.Obtain(ctx, "k", time.Minute, nil)
	defer l.Release(ctx) // want `LL3005: l.Release runs also when`
	defer tx.Commit()
	if err != nil {
		return err
	}
	return work()
}

func otherCheckBetween(ctx context.Context, rs *redsync.Redsync) error {
	a, b := rs.NewMutex("a"), rs.NewMutex("b")
	err := a.LockContext(ctx)
	err2 := b.LockContext(ctx)
	defer b.UnlockContext(ctx) // want `LL3005: b.UnlockContext runs also when`
	if err != nil {
		return err
	}
	defer a.UnlockContext(ctx)
	if err2 != nil {
		return err2
	}
	return work()
}

func assignmentBetween(ctx context.Context, c *redislock.Client, next context.Context) error {
	l, err := c.Obtain(ctx, "k", time.Minute, nil)
	defer l.Release(ctx) // want `LL3005: l.Release runs also when`
	ctx = next
	if err != nil {
		return err
	}
	return ctx.Err()
}

func goBetween(ctx context.Context, c *redislock.Client, watch func()) error {
	l, err := c.Obtain(ctx, "k", time.Minute, nil)
	defer l.Release(ctx) // want `LL3005: l.Release runs also when`
	go watch()
	if err != nil {
		return err
	}
	return work()
}

func panicBetween(ctx context.Context, c *redislock.Client, save func()) error {
	l, err := c.Obtain(ctx, "k", time.Minute, nil)
	defer l.Release(ctx) // want `LL3005: l.Release runs also when`
	save()
	if err != nil {
		return err
	}
	return work()
}

// What the literal does beside the release must run in any case.
func doesMore(ctx context.Context, c *redislock.Client, wg *sync.WaitGroup) error {
	l, err := c.Obtain(ctx, "k", time.Minute, nil)
	defer func() {
		l.Release(ctx) // want `LL3005: l.Release runs also when`
		wg.Done()
	}()
	if err != nil {
		return err
	}
	return work()
}

// So must what finds its arguments.
func computesArguments(ctx context.Context, c *redislock.Client, begin func() context.Context) error {
	l, err := c.Obtain(ctx, "k", time.Minute, nil)
	defer l.Release(begin()) // want `LL3005: l.Release runs also when`
	if err != nil {
		return err
	}
	return work()
}

// The flag is looked at later.
func flagLater(ctx context.Context, c *redislock.Client) error {
	l, ok, err := obtainIf(ctx, c)
	defer l.Release(ctx) // want `LL3005: l.Release runs also when`
	if err != nil {
		return err
	}
	if !ok {
		return nil
	}
	return work()
}

func obtainIf(ctx context.Context, c *redislock.Client) (*redislock.Lock, bool, error) {
	l, err := c.Obtain(ctx, "k", time.Minute, nil)
	if err == redislock.ErrNotObtained {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	return l, true, nil
}

// Two statements on one line stay as they are.
func oneLine(ctx context.Context, c *redislock.Client) error {
	l, err := c.Obtain(ctx, "k", time.Minute, nil); defer l.Release(ctx) // want `LL3005: l.Release runs also when`
	if err != nil {
		return err
	}
	return work()
}

// These have a fix. What stands before the defer is not crossed, and comments go with it.

func returnBefore(ctx context.Context, c *redislock.Client, skip bool) error {
	l, err := c.Obtain(ctx, "k", time.Minute, nil)
	if skip {
		return nil
	}
	defer log.Println("done")
	defer l.Release(context.WithoutCancel(ctx)) // want `LL3005: l.Release runs also when`
	if err != nil {
		return err
	}
	return work()
}

func commented(ctx context.Context, c *redislock.Client) error {
	l, err := c.Obtain(ctx, "k", time.Minute, nil)
	// Whatever happens,
	// it is given back.
	defer l.Release(ctx) // want `LL3005: l.Release runs also when`
	if err != nil {
		return err
	} // no lock, no work

	return work()
}

func inLiteral(ctx context.Context, c *redislock.Client) (err error) {
	l, err := c.Obtain(ctx, "k", time.Minute, nil)
	defer func() {
		// Nobody waits for it.
		if err := l.Release(ctx); err != nil { // want `LL3005: l.Release runs also when`
			log.Print(err)
		}
	}() // at the end
	if err != nil {
		return err
	}
	return work()
}
