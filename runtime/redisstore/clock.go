package redisstore

import (
	"context"
	"time"

	"github.com/lockgen/lockgen/runtime/internal/storeclock"
	"github.com/lockgen/lockgen/runtime/internal/workers"
)

type clockPair = storeclock.Pair

// serverClock is the clock of a server that can be asked for it.
type serverClock struct {
	*storeclock.Clock
	asking chan struct{} // a semaphore: full while one caller asks
}

func newServerClock() serverClock {
	return serverClock{storeclock.New(), make(chan struct{}, 1)}
}

// known asks the server for its time, if no answer has told that yet. Others wait for the one that asks.
func (c *serverClock) known(
	ctx, limit context.Context, calls *calls, ask func(context.Context) (time.Time, error),
) error {
	if c.Known() {
		return nil
	}
	select {
	case c.asking <- struct{}{}:
		defer func() { <-c.asking }()
	case <-ctx.Done():
		return ctx.Err()
	case <-limit.Done():
		return context.Cause(limit)
	}
	if c.Known() {
		return nil
	}
	var (
		sent  = time.Now()
		shown time.Time
		err   error
		done  = make(chan struct{})
		call  = callContext(ctx, limit)
	)
	calls.Start(func() {
		defer close(done)
		shown, err = ask(call)
	})
	if left := workers.Await(ctx, limit, done); left != nil {
		return left
	}
	if err == nil {
		c.Learn(clockPair{Local: sent, Micros: shown.UnixMicro()})
	}
	return err
}
