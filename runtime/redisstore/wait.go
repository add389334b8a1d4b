package redisstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lockgen/lockgen/internal/pace"
	lockrt "github.com/lockgen/lockgen/runtime"
)

const (
	// askGrace is how long after the end of a wait the answer to its first request may come.
	askGrace = 50 * time.Millisecond
	// askSilence is how long a request may be without an answer before the server counts as unreachable.
	askSilence = 250 * time.Millisecond
)

var errGrantTooLate = errors.New("the store's grants came after their leases had ended; is the store or this process " +
	"overloaded?")

// wait queues up and returns with the grant, however it becomes known: by the push of whoever hands on the lock, or by
// an answer to a poke. A poke is acquire.lua once more, at the end of the lease that stands in the way and when the
// session has reason to believe that a push was lost; so a lost push costs time and nothing else.
func (s *session) wait(ctx context.Context, req lockrt.Request) (lockrt.Grant, error) {
	until, bound := time.Time{}, callTime
	if req.Wait != lockrt.Forever {
		until = time.Now().Add(req.Wait)
		bound = min(bound, req.Wait+askGrace)
	}
	w := s.enlist(req.ID, s.space.keys(req.Key).of(req.Mode, req.Permits), until.IsZero() && ctx.Done() == nil)
	defer s.delist(req.ID, w)
	a, err := s.ask(ctx, w.keys, req, bound)
	switch {
	case err != nil:
		tell(req, nil, err)
		s.giveUp(req, w.keys, ctx.Err() != nil || !until.IsZero() && time.Now().After(until))
		return lockrt.Grant{}, err
	case a.granted:
		if grant := a.grant(req); current(grant, req) {
			return grant, nil
		}
	}
	state := waiting{session: s, req: req, waiter: w, until: until}
	return state.await(ctx, a)
}

// giveUp takes a request back that its caller has given up. over says that the caller's time was: then the place may
// stay for the next of its process.
func (s *session) giveUp(req lockrt.Request, keys lockKeys, over bool) {
	if over && req.Keep != nil && req.Keep() {
		return
	}
	s.leftovers.Abandon(req.ID, keys, req.TTL+2*s.liveness)
}

// current reports whether a grant may still be in force. One that came so late that its lease is over says nothing
// about the present: another owner may have come and gone, and the waiter may stand in the queue again. It asks once
// more.
func current(g lockrt.Grant, req lockrt.Request) bool {
	ttl := req.TTL
	if g.TTL != 0 {
		ttl = g.TTL
	}
	return time.Since(g.Start) < ttl
}

// waiting is the state of one that stands in the queue.
type waiting struct {
	*session
	req    lockrt.Request
	waiter *waiter
	until  time.Time // zero if the wait has no end

	clock   clockPair         // the server's clock at the last answer
	busy    *lockrt.BusyError // the last answer that named a holder
	down    error             // why the last request failed; nil if it did not
	since   time.Time         // when the first of the requests without an answer was sent; zero if the last one has one
	backoff time.Duration
	poke    *time.Timer

	asked   <-chan heard // gets the answer of the request under way; nil if there is none
	askedAt time.Time
	leave   context.CancelFunc // cancels the request under way
	again   bool               // another request follows the one under way
}

// heard is how a question ended.
type heard struct {
	answer
	err error
}

// await waits in the queue. first is what the server said when the request joined it.
func (w *waiting) await(ctx context.Context, first answer) (lockrt.Grant, error) {
	var budget <-chan time.Time
	if !w.until.IsZero() {
		timer := time.NewTimer(time.Until(w.until))
		defer timer.Stop()
		budget = timer.C
	}
	w.poke = time.NewTimer(time.Hour)
	defer w.poke.Stop()
	defer w.settleQuestion() // nothing the request brings is left unknown when the caller gives up
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
		case r := <-w.asked:
			w.leave()
			w.asked = nil
			if grant, err = w.hear(ctx, r); w.again && err == nil {
				w.again = false
				w.ask(ctx)
			}
		}
	}
	if err != nil {
		w.settleQuestion()
		over := ctx.Err() != nil || !w.until.IsZero() && !time.Now().Before(w.until)
		w.giveUp(w.req, w.waiter.keys, over && !errors.Is(err, lockrt.ErrLost))
		return lockrt.Grant{}, err
	}
	return *grant, nil
}

// ask asks the server beside the wait, which may end at any time.
func (w *waiting) ask(ctx context.Context) {
	if w.asked != nil {
		w.again = true
		return
	}
	ctx, w.leave = context.WithCancel(ctx)
	answered := make(chan heard, 1)
	w.asked, w.askedAt = answered, time.Now()
	s, keys, req := w.session, w.waiter.keys, w.req // the waiter may belong to another Acquire when the request ends
	s.calls.Start(func() {
		a, err := s.ask(ctx, keys, req, callTime)
		answered <- heard{a, err}
	})
}

// settleQuestion ends the question under way, which takes no time: nothing in it outlasts its context.
func (w *waiting) settleQuestion() {
	if w.asked == nil {
		return
	}
	w.leave()
	<-w.asked
	w.asked = nil
}

// pushed is the grant of a push, nil if it came too late: its lease is over, or it was given before the server said
// that the request has to wait, which it would not have said of one that owns the lock.
func (w *waiting) pushed(p pushed) *lockrt.Grant {
	if p.since < w.clock.Micros {
		return nil
	}
	grant := grantOf(p, w.clock.At(p.since), w.req)
	if now := time.Now(); grant.Start.After(now) {
		grant.Start = now
	}
	if !current(grant, w.req) {
		return nil
	}
	return &grant
}

// hear evaluates the answer of a request, or its error. It returns the grant if there is one.
func (w *waiting) hear(ctx context.Context, r heard) (*lockrt.Grant, error) {
	switch {
	case r.err == nil && r.broken:
		return nil, fmt.Errorf("%w: it was broken before its grant was known", lockrt.ErrLost)
	case r.err == nil:
		if grant := r.grant(w.req); r.granted && current(grant, w.req) {
			return &grant, nil
		}
		w.clock, w.down, w.since, w.backoff = r.clock, nil, time.Time{}, 0
		if !r.granted {
			w.busy = r.busy(w.req.Key)
			tell(w.req, w.busy, nil)
		}
		w.poke.Reset(w.queued(w.waiter, r.answer))
	case ctx.Err() != nil: // await returns this error
	case !retryable(r.err):
		tell(w.req, nil, r.err)
		return nil, r.err
	default:
		// The server cannot be reached. It keeps the place in the queue, so the waiter asks again. A waiter whose wait
		// has no end gives up after callTime.
		tell(w.req, nil, r.err)
		if w.since.IsZero() {
			w.since = w.askedAt
		}
		if w.waiter.endless && time.Since(w.since) >= callTime {
			return nil, r.err
		}
		w.down, w.backoff = r.err, min(max(2*w.backoff, 50*time.Millisecond), time.Second)
		w.poke.Reset(pace.Jitter(w.backoff))
	}
	return nil, nil
}

// outcome tells a busy lock from a store that cannot be asked.
func (w *waiting) outcome() error {
	silent := time.Since(w.askedAt)
	switch {
	case w.down != nil:
		return w.down
	case w.asked != nil && silent > askSilence:
		return noAnswerError(silent)
	case w.busy != nil:
		return w.busy
	}
	return errGrantTooLate
}
