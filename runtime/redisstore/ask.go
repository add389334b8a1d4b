package redisstore

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockgen/lockgen/internal/pace"
	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/internal/waits"
)

const (
	// askRetries is how often a request is repeated whose answer was lost, if the client has no setting for it. A
	// request of a caller that does not wait is repeated as often while the server is not ready.
	askRetries = 3
	// askLate is how often a request is repeated that the script refused as late although its time was not over. Then
	// the server's clock was set, or the session knows the clock of another server.
	askLate = 3

	askBackoff    = 8 * time.Millisecond
	askBackoffMax = 512 * time.Millisecond
)

var errTooLate = errors.New("the server refuses the request as late, again and again: does its clock jump?")

// ask runs acquire.lua, and repeats it when the connection breaks or the server is not ready. It ends with ctx or after
// bound. Attempts that had no answer are remembered: see janitor.Janitor.
func (s *session) ask(ctx context.Context, keys lockKeys, req lockrt.Request, bound time.Duration) (answer, error) {
	limit, over := s.calls.limits.after(bound)
	defer over()
	if err := s.clockKnown(ctx, limit, keys); err != nil {
		return answer{}, explain(ctx, err)
	}
	attempts, late, backoff := 0, 0, askBackoff
	var said lastWord
	for {
		lines := s.resubscribed.Load()
		a, err := s.askOnce(ctx, limit, keys, req)
		if said.hear(err); isWord(err) {
			waits.Tell(req, nil, err)
		}
		switch {
		case err == nil && a.granted && s.resubscribed.Load() != lines:
			continue // a push about a broken lease may have been lost before Held knew of the lease
		case err == nil && !a.late:
			return a, nil
		case err == nil:
			if late++; late > askLate {
				return answer{}, errTooLate
			}
			continue
		case errors.Is(err, errSlow):
			continue // doAlone sends the same request
		case !retryable(err), ctx.Err() != nil, limit.Err() != nil, attempts >= s.retries && !patient(req, err):
			return answer{}, explain(ctx, said.or(err))
		}
		attempts++
		if !pace.Sleep(ctx, pace.Jitter(backoff)) {
			return answer{}, explain(ctx, said.or(err))
		}
		backoff = min(2*backoff, askBackoffMax)
	}
}

// patient reports whether a question is repeated for as long as its limit allows: the server is there and not ready,
// and the caller has time.
func patient(req lockrt.Request, err error) bool { return req.Wait > 0 && isReply(err) }

// askOnce runs acquire.lua once, and acquire_shared.lua where that is the one for the request.
func (s *session) askOnce(ctx, limit context.Context, keys lockKeys, req lockrt.Request) (answer, error) {
	st := s.stripe(keys)
	if keys.kind == "" && !s.mixed.has(keys.lock) {
		a, err := s.askBy(ctx, limit, st.acquires, keys, req)
		if err != nil || !a.shared {
			return a, err
		}
		s.mixed.add(keys.lock)
	}
	return s.askBy(ctx, limit, st.shared, keys, req)
}

func (s *session) askBy(
	ctx, limit context.Context, by *combiner, keys lockKeys, req lockrt.Request,
) (answer, error) {
	e := &item{keys: keys, id: req.ID, terms: terms{ttl: millis(req.TTL)}}
	if req.Wait > 0 {
		e.liveness = s.liveness.Milliseconds()
	}
	if err := by.do(ctx, limit, e); err != nil {
		if underWay := new(underWayError); errors.As(err, &underWay) {
			s.leftovers.Doubt(req.ID, keys, underWay.latest)
		} else if !e.sent.IsZero() && mayHaveRun(err) {
			s.leftovers.Doubt(req.ID, keys, e.latest)
		}
		return answer{}, err
	}
	a, err := parseAnswer(e.answer, e.sent)
	if err == nil {
		s.stripe(keys).clock.Learn(a.clock)
	}
	return a, err
}

// over is called with an acquire whose caller has left and whose call is over.
func (s *session) over(e *item) {
	if e.answered() {
		s.leftovers.Answered(e.id)
	} else {
		s.leftovers.Brought(e.id)
	}
}

// acquireArgs are the arguments of acquire.lua before the ids.
func (s *session) acquireArgs(t terms, latest int64) []any {
	return []any{t.ttl, t.ttl + s.retention.Milliseconds(), t.liveness, s.waiterID, latest}
}

// retriesOf is how often a client repeats a call. The session repeats acquires itself, because each attempt needs its
// own latest moment, and keeps to that.
func retriesOf(client redis.UniversalClient) int {
	if c, ok := client.(*redis.Client); ok {
		return c.Options().MaxRetries
	}
	return askRetries
}
