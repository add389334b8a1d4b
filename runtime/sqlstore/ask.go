package sqlstore

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/lockgen/lockgen/internal/pace"
	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/internal/waits"
)

// request is one Acquire.
type request struct {
	req  lockrt.Request
	id   string // escaped
	name []byte
	kind kind
	left atomic.Bool // its caller has gone: nothing more is to be asked for it

	slow bool // it was not free at once
}

func (s *session) newRequest(req lockrt.Request) *request {
	return &request{req: req, id: escaped(req.ID), name: rowName(s.Namespace, req.Key),
		kind: kindOf(req.Mode, req.Permits)}
}

// answer is what the server said to a claim.
type answer struct {
	outcome outcome
	epoch   uint64
	since   int64
	until   int64 // of a lock that is busy: when it may have room
	slot    int
	holder  string
	holders int // how many hold it together; 0: one alone
	turns   int64
	place   int // how many stand before it in the queue, and that one itself; 0: it is not in it
	clock   clockPair
	latest  int64 // a request without an answer may act until then, on the server's clock; 0: there is none
	guarded bool  // the last lease is over, and its holder in a guarded transaction
}

func (a answer) grant(req lockrt.Request) lockrt.Grant {
	g := lockrt.Grant{Epoch: a.epoch, Slot: a.slot, Start: a.clock.At(a.since)}
	if ttl := fromMicros(a.until - a.since); ttl < req.TTL {
		g.TTL = ttl
	}
	return g
}

func (a answer) busy(key string) *lockrt.BusyError {
	return &lockrt.BusyError{Key: key, Holder: a.holder, Holders: a.holders, Remaining: a.remaining()}
}

// remaining is what is left of the lease in the way, 0 while its holder is in a guarded transaction: nobody knows then.
func (a answer) remaining() time.Duration {
	if a.guarded {
		return 0
	}
	return max(fromMicros(a.until-a.clock.Micros), time.Millisecond)
}

// ask asks the server once, until it has an answer, ctx ends, or bound is over. latest of the answer is set with an
// error too.
func (s *session) ask(ctx context.Context, q *request, bound time.Duration) (answer, error) {
	type said struct {
		answer
		err error
	}
	// The call may outlast this function: it has its own memory.
	result := new(atomic.Pointer[said])
	end := time.Now().Add(callTime)
	s.asks.Add(1)
	left, err := s.calls.do(ctx, bound, func(limit context.Context) error {
		defer s.asks.Done()
		a, err := s.askServer(limit, q)
		result.Store(&said{a, err})
		if q.left.Load() {
			s.leftovers.Brought(q.id)
		}
		return err
	})
	a := said{}
	if r := result.Load(); r != nil {
		a = *r
	}
	if left {
		// In this order: as long as the server's clock is not known nothing was sent, and nothing will be.
		q.left.Store(true)
		a.answer = answer{latest: s.store.clock.Latest(end)}
	}
	if err != nil {
		return a.answer, s.explain(ctx, err)
	}
	return a.answer, nil
}

// explain is the error of a call as the caller gets it.
func (s *session) explain(ctx context.Context, err error) error {
	if t := s.store.known.Load(); t != nil {
		return t.explain(ctx, err)
	}
	return explain(ctx, err)
}

const (
	askRetries = 3 // how often a question is repeated at once that had no answer
	askBackoff = 4 * time.Millisecond
)

// askServer asks until there is an answer.
func (s *session) askServer(ctx context.Context, q *request) (a answer, err error) {
	t, err := s.store.ready(ctx)
	if err != nil {
		return answer{}, err
	}
	end, _ := ctx.Deadline()
	asked := asking{s: s, t: t, q: q}
	defer func() { a.latest = asked.unanswered }()
	for failures := 0; ; {
		if q.left.Load() {
			return answer{}, context.Canceled
		}
		asked.latest = s.store.clock.Latest(end) // anew: the last answer may have said that the clock was set
		a, done, err := asked.once(ctx)
		switch {
		case err == nil && done:
			return a, nil
		case err == nil || t.Again(err): // nothing was changed
			if !asked.conflict(ctx) {
				return answer{}, errors.Join(errConflict, err)
			}
			continue
		case ctx.Err() != nil || q.left.Load() || !t.retryable(err):
			return answer{}, err
		}
		waits.Tell(q.req, nil, t.explain(context.Background(), err))
		if failures++; failures > askRetries || !pace.Sleep(ctx, pace.Jitter(askBackoff<<(2*failures))) {
			return answer{}, err
		}
	}
}
