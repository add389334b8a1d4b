package recipes

import (
	"context"
	"math/rand/v2"
	"runtime"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockgen/lockgen/examples/pitfalls/internal/lab"
)

// stormLock is taken as it should be, and released as it should be. What fails is
// the waiting: Redis does not call those who wait, so they ask again and again.
//
//	A: has the lock
//	B: SET … NX → nil; SET … NX → nil; SET … NX → nil …
//
// A thousand who ask as fast as they can keep Redis from serving A's release. Those
// who sleep between two tries sleep when the lock becomes free, and nobody
// knows who is next. The five ways to wait are measured by the command.
type stormLock struct {
	rdb *redis.Client
	key string
}

func (l stormLock) TryLock(ctx context.Context, token string) (bool, error) {
	return l.rdb.SetNX(ctx, l.key, token, time.Minute).Result()
}

func (l stormLock) Unlock(ctx context.Context, token string) error {
	return compareAndDelete.Run(ctx, l.rdb, []string{l.key}, token).Err()
}

// LockSpinning asks again at once.
func (l stormLock) LockSpinning(ctx context.Context, token string) error {
	for {
		//locklint:ignore LL2010 this is what the recipe shows
		won, err := l.rdb.SetNX(ctx, l.key, token, time.Minute).Result()
		if err != nil || won {
			return err
		}
	}
}

// LockYielding lets other goroutines run first, which costs Redis just as much.
func (l stormLock) LockYielding(ctx context.Context, token string) error {
	for {
		//locklint:ignore LL2010 this is what the recipe shows
		won, err := l.rdb.SetNX(ctx, l.key, token, time.Minute).Result()
		if err != nil || won {
			return err
		}
		runtime.Gosched()
	}
}

// LockSleeping returns a way to wait that sleeps between two tries.
func (l stormLock) LockSleeping(pause func(try int) time.Duration) func(ctx context.Context, token string) error {
	return func(ctx context.Context, token string) error {
		for try := 0; ; try++ {
			won, err := l.TryLock(ctx, token)
			if err != nil || won {
				return err
			}
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(pause(try)):
			}
		}
	}
}

func fixed(d time.Duration) func(int) time.Duration {
	return func(int) time.Duration { return d }
}

// doubling sleeps for twice as long after each try, up to 200 ms, give or take a half.
func doubling(try int) time.Duration {
	d := min(time.Millisecond<<min(try, 10), 200*time.Millisecond)
	return d/2 + rand.N(d)
}

// spinning counts what one waiter sends while nothing happens.
func spinning(ctx context.Context, l *lab.Lab) (Outcome, error) {
	bc := l.Client()
	a, b := stormLock{l.Client().Client, l.Key("seat")}, stormLock{bc.Client, l.Key("seat")}
	//locklint:ignore LL3003 where the laboratory fails its server goes, with the lock
	if won, err := a.TryLock(ctx, "a"); err != nil || !won {
		return notTaken("A", err)
	}
	waiting := lab.Go(l, func() (bool, error) { return true, b.LockSpinning(ctx, "b") })
	const many = 1000
	if err := l.Until("B has asked a thousand times", func() (bool, error) { return bc.Sent() > many, nil }); err != nil {
		return Outcome{}, err
	}
	if err := a.Unlock(ctx, "a"); err != nil {
		return Outcome{}, err
	}
	if r := <-waiting; r.Err != nil {
		return Outcome{}, r.Err
	}
	return failed("one waiter sent more than %d commands for one lock", many)
}
