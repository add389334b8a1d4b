package redisstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lockgen/lockgen/internal/pace"
	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/internal/waits"
)

// askSilence is how long a request may be without an answer before the server counts as unreachable.
const askSilence = 250 * time.Millisecond

// wait queues up and returns with the grant, however it becomes known: by the push of whoever hands on the lock, or by
// an answer to a poke. A poke is acquire.lua once more, at the end of the lease that stands in the way and when the
// session has reason to believe that a push was lost; so a lost push costs time and nothing else.
func (s *session) wait(ctx context.Context, req lockrt.Request) (lockrt.Grant, error) {
	begun := waits.Begin(ctx, req)
	w := s.enlist(req.ID, s.space.keys(req.Key).of(req.Mode, req.Permits), begun.Endless)
	defer s.delist(req.ID, w)
	a, err := s.ask(ctx, w.keys, req, begun.Left(callTime))
	switch {
	case err != nil:
		waits.Tell(req, nil, err)
		s.giveUp(req, w.keys, ctx.Err() != nil || begun.Over())
		return lockrt.Grant{}, err
	case a.granted:
		if grant := a.grant(req); waits.Current(grant, req) {
			return grant, nil
		}
	}
	state := waiting{State: begun, session: s, waiter: w}
	return state.await(ctx, a)
}

// giveUp takes a request back that its caller has given up. over says that the caller's time was: then the place may
// stay for the next of its process.
func (s *session) giveUp(req lockrt.Request, keys lockKeys, over bool) {
	patience := req.TTL + 2*s.liveness
	if over && req.Keep != nil && req.Keep() {
		s.leftovers.Leave(req.ID, keys, patience)
		return
	}
	s.leftovers.Abandon(req.ID, keys, patience)
}

// waiting is the state of one that stands in the queue.
type waiting struct {
	*session
	waits.State
	waiter *waiter

	clock    clockPair // the server's clock at the last answer
	backoff  time.Duration
	poke     *time.Timer
	question waits.Question[heard]
}

// heard is how a question ended.
type heard struct {
	answer
	err error
}

// await waits in the queue. first is what the server said when the request joined it.
func (w *waiting) await(ctx context.Context, first answer) (lockrt.Grant, error) {
	budget, stop := w.Budget()
	defer stop()
	w.poke = time.NewTimer(time.Hour)
	defer w.poke.Stop()
	defer w.question.Settle() // nothing the request brings is left unknown when the caller gives up
	grant, err := w.hear(ctx, heard{answer: first})
	for grant == nil && err == nil {
		select {
		case p := <-w.waiter.grants:
			grant = w.pushed(p)
			if grant == nil {
				w.ask(ctx)
			}
		case reason := <-w.waiter.lost:
			err = fmt.Errorf("%w: %w", lockrt.ErrLost, reason)
		case <-ctx.Done():
			err = errors.Join(ctx.Err(), w.outcome())
		case <-w.ctx.Done():
			err = lockrt.ErrClosed
		case <-budget:
			err = w.outcome()
		case <-w.waiter.pokes:
			w.ask(ctx)
		case <-w.poke.C:
			w.ask(ctx)
		case r := <-w.question.Answer:
			again := w.question.Answered()
			if grant, err = w.hear(ctx, r); again && err == nil && grant == nil {
				w.ask(ctx)
			}
		}
	}
	if err != nil {
		w.question.Settle()
		over := ctx.Err() != nil || w.Over()
		w.giveUp(w.Req, w.waiter.keys, over && !errors.Is(err, lockrt.ErrLost) && !errors.Is(err, lockrt.ErrClosed))
		return lockrt.Grant{}, err
	}
	return *grant, nil
}

// ask asks the server beside the wait, which may end at any time.
func (w *waiting) ask(ctx context.Context) {
	s, keys, req := w.session, w.waiter.keys, w.Req // the waiter may belong to another Acquire when the request ends
	w.question.Ask(ctx, s.calls.Start, func(ctx context.Context) heard {
		a, err := s.ask(ctx, keys, req, callTime)
		return heard{a, err}
	})
}

// pushed is the grant of a push, nil if it came too late: its lease is over, or it was given before the server said
// that the request has to wait, which it would not have said of one that owns the lock.
func (w *waiting) pushed(p pushed) *lockrt.Grant {
	if p.since < w.clock.Micros {
		return nil
	}
	grant := grantOf(p, w.clock.At(p.since), w.Req)
	if now := time.Now(); grant.Start.After(now) {
		grant.Start = now
	}
	if !waits.Current(grant, w.Req) {
		return nil
	}
	return &grant
}

// hear evaluates the answer of a request, or its error. It returns the grant if there is one.
func (w *waiting) hear(ctx context.Context, r heard) (*lockrt.Grant, error) {
	switch {
	case r.err == nil && r.broken:
		return nil, waits.ErrBroken
	case r.err == nil:
		if grant := r.grant(w.Req); r.granted && waits.Current(grant, w.Req) {
			return &grant, nil
		}
		w.clock, w.backoff = r.clock, 0
		var busy *lockrt.BusyError
		if !r.granted {
			busy = r.busy(w.Req.Key)
		}
		w.Heard(busy)
		w.poke.Reset(w.queued(w.waiter, r.answer))
	case ctx.Err() != nil: // await returns this error
	case !retryable(r.err):
		waits.Tell(w.Req, nil, r.err)
		return nil, r.err
	default:
		// The server cannot be reached. It keeps the place in the queue, so the waiter asks again. A waiter whose wait
		// has no end gives up after callTime.
		waits.Tell(w.Req, nil, r.err)
		if w.Unheard(r.err, w.question.AskedAt, callTime) {
			return nil, r.err
		}
		w.backoff = min(max(2*w.backoff, 50*time.Millisecond), time.Second)
		w.poke.Reset(pace.Jitter(w.backoff))
	}
	return nil, nil
}

// outcome tells a busy lock from a store that cannot be asked.
func (w *waiting) outcome() error {
	if silent := w.question.Silent(); w.Down == nil && silent > askSilence {
		return noAnswerError(silent)
	}
	return w.Outcome(nil)
}
