package etcdstore

import (
	"context"
	"time"

	etcd "go.etcd.io/etcd/client/v3"

	"github.com/lockgen/lockgen/internal/pace"
	"github.com/lockgen/lockgen/runtime/internal/timelimit"
)

const (
	retryFirst = 5 * time.Millisecond
	retryMost  = 500 * time.Millisecond
)

// attempt makes one call with a bound of its own, so that one silent server does not take the time of all.
func attempt[T any](ctx context.Context, call func(context.Context) (T, error)) (T, error) {
	ctx, cancel := until(ctx, attemptLimit.Next())
	defer cancel()
	return call(ctx)
}

// repeat makes a call until it has an answer, ctx ends, or another try is of no use. The call must be one that may be
// repeated. unanswered says that an earlier attempt had no answer, and may have done its work.
func repeat[T any](ctx context.Context, call func(context.Context) (T, error)) (got T, unanswered bool, err error) {
	var said error // by a server, and not by our own limit
	for backoff := retryFirst; ; backoff = pace.Backoff(backoff, retryFirst, retryMost) {
		got, err = attempt(ctx, call)
		if err == nil {
			return got, unanswered, nil
		}
		unanswered = unanswered || mayHaveRun(err)
		if !isContext(err) {
			said = err
		}
		if backoff == retryFirst {
			ctx = etcd.WithRequireLeader(ctx) // from here on: a server without one says so at once
		}
		if !retryable(err) || ctx.Err() != nil || !pace.Sleep(ctx, pace.Jitter(backoff)) {
			if isContext(err) && said != nil {
				err = said
			}
			return got, unanswered, err
		}
	}
}

// The limits of calls. Arming a timer for each call costs about as much as the rest of it.
var (
	callLimit    = timelimit.Shared{Length: callTime, Share: callTime / 20, Cause: errNoAnswer}
	attemptLimit = timelimit.Shared{Length: attemptTime, Share: attemptTime / 10, Cause: errNoAnswer}
)

// bounded returns a context that ends with ctx, or after callTime.
func bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	return until(ctx, callLimit.Next())
}

// until returns a context that ends with ctx or limit.
func until(ctx, limit context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(limit, func() { cancel(context.Cause(limit)) })
	return ctx, func() {
		stop()
		cancel(nil)
	}
}
