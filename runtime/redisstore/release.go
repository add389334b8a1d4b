package redisstore

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockgen/lockgen/internal/pace"
	lockrt "github.com/lockgen/lockgen/runtime"
)

// Release implements lockrt.Session. One that fails goes on in the background, whether it was sent or not: at once, or
// when the MinHold is over that could not be told to the server.
func (s *session) Release(ctx context.Context, rel lockrt.Release) error {
	began, keys := time.Now(), s.space.keys(rel.Key).of(rel.Mode, rel.Permits)
	done, err := s.once(ctx, func(limit context.Context) (bool, bool, error) { return s.release(ctx, limit, keys, rel) })
	if err != nil {
		s.leftovers.AbandonAfter(rel.ID, keys, began.Add(rel.Keep), releasePatience)
		return err
	}
	s.leftovers.Unwanted(rel.ID)
	if !done {
		return lockrt.ErrLost
	}
	return nil
}

// releasePatience is how long a release that failed is tried again. At the end of the lease's TTL, which is not known
// here, there is nothing more to do, and the server says so.
const releasePatience = time.Hour

// once has a script run that changes something once and answers at a second time that there is nothing to change. It
// repeats the call itself instead of leaving that to the client, because it has to know: that answer, after a call that
// may have run unanswered, means that that call succeeded. try's unsure is whether it may have run before the answer.
func (s *session) once(
	ctx context.Context, try func(limit context.Context) (done, unsure bool, err error),
) (bool, error) {
	limit := s.calls.limits.Next()
	unanswered := false
	var said lastWord
	for backoff := 5 * time.Millisecond; ; backoff = min(2*backoff, 500*time.Millisecond) {
		done, unsure, err := try(limit)
		unanswered = unanswered || unsure
		said.hear(err)
		switch {
		case err == nil:
			return done || unanswered, nil
		case errors.Is(err, errSlow):
			unanswered = unanswered || wasSent(err)
			continue
		case !retryable(err) || ctx.Err() != nil || limit.Err() != nil:
			return false, explain(ctx, said.or(err))
		}
		unanswered = unanswered || mayHaveRun(err)
		timer := time.NewTimer(pace.Jitter(backoff))
		select {
		case <-timer.C:
		case <-ctx.Done():
		case <-limit.Done():
		}
		timer.Stop()
	}
}

// release asks once: release.lua or retain.lua, and release_shared.lua where that is the one for the lease.
func (s *session) release(
	ctx, limit context.Context, keys lockKeys, rel lockrt.Release,
) (released, unsure bool, err error) {
	retention := s.retention.Milliseconds()
	alone := keys.kind == "" && !s.mixed.has(keys.lock)
	if rel.Keep > 0 {
		keep, n := millis(rel.Keep), answerElsewhere
		if alone {
			n, err = s.runOnce(ctx, limit, retainScript, keys.alone(), rel.ID, keep, retention)
		}
		if n == answerElsewhere && err == nil {
			n, err = s.runOnce(ctx, limit, releaseSharedScript, keys.all(), retention, s.waiterID, keep, rel.ID)
		}
		return n == 1, false, err
	}
	e := &item{keys: keys, id: rel.ID}
	if alone {
		err = s.stripe(keys).releases.do(ctx, limit, e)
		if err != nil || e.answer != int64(answerElsewhere) {
			return err == nil && e.answer == int64(1), err == nil && e.unsure, err
		}
		s.mixed.add(keys.lock)
		e = &item{keys: keys, id: rel.ID, unsure: e.unsure}
	}
	if err := s.stripe(keys).leaving.do(ctx, limit, e); err != nil {
		return false, false, err
	}
	return e.answer == int64(1), e.unsure, nil
}

// answerElsewhere is what scripts for exclusive leases answer where readers or permits have to be looked at.
const answerElsewhere = 3

// runOnce runs a script that returns a number, until ctx or limit ends.
func (s *session) runOnce(ctx, limit context.Context, sc *script, keys []string, args ...any) (int, error) {
	return s.runLimited(ctx, limit, sc, keys, args...).Int()
}

// runLimited runs a script until ctx or limit ends.
func (s *session) runLimited(ctx, limit context.Context, sc *script, keys []string, args ...any) *redis.Cmd {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stop := context.AfterFunc(limit, func() { cancel(context.Cause(limit)) })
	defer stop()
	if end, ok := limit.Deadline(); ok { // the client heeds a deadline, and no cancellation
		var over context.CancelFunc
		ctx, over = context.WithDeadline(ctx, end)
		defer over()
	}
	return s.calls.run(ctx, s.client, sc, keys, args...)
}
