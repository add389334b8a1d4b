package etcdstore

import (
	"context"
	"time"

	etcd "go.etcd.io/etcd/client/v3"

	"github.com/lockgen/lockgen/internal/pace"
)

const (
	retryFirst = 5 * time.Millisecond
	retryMost  = 500 * time.Millisecond
)

// attempt makes one call with a bound of its own, so that one silent server does not take the time of all.
func attempt[T any](ctx context.Context, call func(context.Context) (T, error)) (T, error) {
	limit := attemptLimit.Next()
	ctx, cancel := until(within(ctx, limit), limit)
	defer cancel()
	return call(ctx)
}

// repeat makes a call until it has an answer, ctx ends, or another try is of no use. The call must be one that may be
// repeated. unanswered says that an earlier attempt had no answer, and may have done its work.
func repeat[T any](ctx context.Context, call func(context.Context) (T, error)) (got T, unanswered bool, err error) {
	return again(ctx, func(ctx context.Context) (T, error) { return attempt(ctx, call) })
}

// again is repeat for calls that bound themselves.
func again[T any](ctx context.Context, once func(context.Context) (T, error)) (got T, unanswered bool, err error) {
	var said error // by a server, and not by our own limit
	for backoff := retryFirst; ; backoff = pace.Backoff(backoff, retryFirst, retryMost) {
		got, err = once(ctx)
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

const (
	// hedgeTime is how long a renewal waits for one server before another is asked as well.
	hedgeTime = 300 * time.Millisecond
	// hedges is how many are asked at a time.
	hedges = 3
	// soonTime is how long the first attempt at a write of a renewal waits, if the servers answer others.
	soonTime = hedgeTime / 2
)

// hedged is repeat for the calls of a renewal, which has time for little more than one attempt at a server that is silent.
// With several members every other call may come to that one, until its connection is known to be dead. The call must be
// one that bounds its attempts itself, and may be made twice at a time.
func hedged[T any](ctx context.Context, s *session, call func(context.Context) (T, error)) (got T, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type answer struct {
		got T
		err error
	}
	answers := make(chan answer, hedges)
	ask := func() {
		s.calls.Start(func() {
			got, _, err := again(ctx, call)
			answers <- answer{got, err}
		})
	}
	ask()
	another := time.NewTicker(hedgeTime)
	defer another.Stop()
	for asked, left := 1, 1; ; {
		select {
		case a := <-answers:
			if left--; a.err == nil || left == 0 || !retryable(a.err) {
				return a.got, a.err
			}
		case <-another.C:
			if asked < hedges {
				asked, left = asked+1, left+1
				ask()
			}
		}
	}
}

// write is attempt for a call that writes, when it may go. It has no answer only when it is lost, or when ctx ends.
func write[T any](ctx context.Context, s *session, r rank, call func(context.Context) (T, error)) (got T, err error) {
	return writeFor(ctx, s, r, attemptTime, call)
}

// writeFor is write for a call that may be lost after some time.
func writeFor[T any](
	ctx context.Context, s *session, r rank, limit time.Duration, call func(context.Context) (T, error),
) (got T, err error) {
	w, err := s.enter(ctx, r)
	if err != nil {
		return got, err
	}
	err = s.sending(ctx, w, limit, func(ctx context.Context) (err error) {
		got, err = call(ctx)
		return err
	})
	return got, err
}

// sending makes the call of a write that may go. It may be lost after limit.
func (s *session) sending(
	ctx context.Context, w *sending, limit time.Duration, call func(context.Context) error,
) (err error) {
	limited, cancel := s.untilLost(ctx, w.at, limit)
	err = errNoAnswer // if a method of the caller's context panics
	defer func() {
		cancel()
		s.exit(w, err)
	}()
	return call(limited)
}

// rewrite is repeat for a call that writes.
func rewrite[T any](
	ctx context.Context, s *session, r rank, call func(context.Context) (T, error),
) (got T, unanswered bool, err error) {
	return again(ctx, func(ctx context.Context) (T, error) { return write(ctx, s, r, call) })
}

// rewriteSoon is rewrite for the writes of a renewal. The first attempts are lost sooner, if the servers answer others.
func rewriteSoon[T any](
	ctx context.Context, s *session, r rank, call func(context.Context) (T, error),
) (got T, unanswered bool, err error) {
	limit := soonTime
	return again(ctx, func(ctx context.Context) (T, error) {
		got, err := writeFor(ctx, s, r, limit, call)
		limit = min(2*limit, attemptTime)
		return got, err
	})
}
