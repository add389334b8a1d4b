package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lockgen/lockgen/internal/pace"
	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/internal/waits"
)

const (
	// askSilence is how long the server may stay silent before its last answer is out of date.
	askSilence = 250 * time.Millisecond
	// guardPause and guardPauseMax are how long a lock is left alone whose holder is in a guarded transaction.
	guardPause    = 10 * time.Millisecond
	guardPauseMax = 250 * time.Millisecond
)

// wait is Acquire for a request that may stand in the queue.
func (s *session) wait(ctx context.Context, q *request) (lockrt.Grant, error) {
	begun := waits.Begin(ctx, q.req)
	bound := callTime
	if q.req.Wait != lockrt.Forever {
		bound = min(bound, max(q.req.Wait, waits.Grace))
	}
	w := s.enlist(q)
	defer s.delist(w)
	a, err := s.ask(ctx, q, bound)
	s.doubt(q.id, q.req.Key, a.latest)
	over := ctx.Err() != nil || begun.Over()
	if err != nil && (over || !isSilence(err) || !s.store.clock.Heard(callTime)) {
		waits.Tell(q.req, nil, err)
		s.giveUp(q, over)
		return lockrt.Grant{}, err
	}
	if err == nil && a.outcome == granted && waits.Current(a.grant(q.req), q.req) {
		return s.accept(q, a, false), nil
	}
	state := waiting{State: begun, s: s, q: q, w: w, question: waits.Question[heard]{AskedAt: time.Now()}}
	return state.await(ctx, heard{answer: a, err: err})
}

// isSilence reports whether an error says no more than that there was no answer in time. While the server answers
// others, there are only many before this one.
func isSilence(err error) bool { return errors.Is(err, errNoAnswer) || errors.Is(err, errConflict) }

// giveUp takes a request back that its caller has given up. over says that the caller's time was: then the place may
// stay for the next of its process.
func (s *session) giveUp(q *request, over bool) {
	if over && q.req.Keep != nil && q.req.Keep() {
		s.leftovers.Leave(q.id, q.req.Key, q.req.TTL+2*s.cfg.Liveness)
		return
	}
	s.abandon(q.id, q.req.Key, q.req.TTL)
}

// waiting is the state of one that stands in the queue.
type waiting struct {
	waits.State
	s *session
	q *request
	w *waiter

	clock    clockPair     // of the last answer
	pause    time.Duration // before the next question
	poke     *time.Timer
	question waits.Question[heard]
}

// heard is what the server said, to a question or to a poll.
type heard struct {
	answer
	err  error
	poke bool // a poll says no more than that the request is to ask
}

// await waits in the queue. first is what the server said to the first question.
func (w *waiting) await(ctx context.Context, first heard) (lockrt.Grant, error) {
	budget, stop := w.Budget()
	defer stop()
	w.poke = time.NewTimer(time.Hour)
	defer w.poke.Stop()
	defer w.question.Settle()
	grant, err := w.hear(ctx, first, true)
	for grant == nil && err == nil {
		select {
		case h := <-w.w.news:
			if h.poke {
				w.ask(ctx)
			} else {
				grant, err = w.hear(ctx, h, false)
			}
		case reason := <-w.w.lost:
			err = fmt.Errorf("%w: %w", lockrt.ErrLost, reason)
		case <-ctx.Done():
			err = errors.Join(ctx.Err(), w.outcome())
		case <-w.s.ctx.Done():
			err = lockrt.ErrClosed
		case <-budget:
			err = w.outcome()
		case <-w.poke.C:
			w.ask(ctx)
		case r := <-w.question.Answer:
			again := w.question.Answered()
			if grant, err = w.hear(ctx, r, true); again && err == nil && grant == nil {
				w.ask(ctx)
			}
		}
	}
	if err != nil {
		w.question.Settle() // before the caller gives up: what the question brings is known then
		over := ctx.Err() != nil || w.Over()
		w.s.giveUp(w.q, over && !errors.Is(err, lockrt.ErrLost) && !errors.Is(err, lockrt.ErrClosed))
		return lockrt.Grant{}, err
	}
	return *grant, nil
}

// ask asks the server beside the wait, which may end at any time.
func (w *waiting) ask(ctx context.Context) {
	s, req := w.s, w.q.req
	w.question.Ask(ctx, s.calls.Start, func(ctx context.Context) heard {
		q := s.newRequest(req) // what an earlier question still does is its own
		q.slow = true
		a, err := s.ask(ctx, q, callTime)
		s.doubt(q.id, q.req.Key, a.latest)
		return heard{answer: a, err: err}
	})
}

// hear takes the server's word, or that there was none. asked says that it answers a question of this request, and not
// a poll.
func (w *waiting) hear(ctx context.Context, h heard, asked bool) (*lockrt.Grant, error) {
	switch {
	case h.err != nil:
		return nil, w.unheard(ctx, h.err, asked)
	case !asked && h.clock.Local.Before(w.clock.Local):
		// It was sent before the question that has an answer, and may have been read before or after. So what must not be
		// missed is asked for. The server's clock says no more about the order: it may have been set back.
		if h.outcome != busy {
			w.ask(ctx)
		}
		return nil, nil
	case h.outcome == broken:
		return nil, waits.ErrBroken
	case h.outcome == granted && waits.Current(h.grant(w.q.req), w.q.req):
		grant := w.s.accept(w.q, h.answer, true)
		return &grant, nil
	case h.outcome == granted:
		w.ask(ctx)
		return nil, nil
	}
	w.clock = h.clock
	w.Heard(h.busy(w.q.req.Key))
	switch {
	case !asked:
		return nil, nil
	case h.guarded:
		w.pause = min(max(2*w.pause, guardPause), guardPauseMax)
		w.poke.Reset(pace.Jitter(w.pause))
	default:
		w.pause = 0
		w.poke.Stop()
		w.s.queued(w.w, h.answer)
	}
	return nil, nil
}

// unheard is for a server that cannot be asked for a moment; the place in the queue is kept for as long as it
// remembers. Who waits without any end hears of it after callTime.
func (w *waiting) unheard(ctx context.Context, err error, asked bool) error {
	if ctx.Err() != nil {
		return nil // await sees that
	}
	waits.Tell(w.q.req, nil, err)
	if t := w.s.store.known.Load(); asked && (t == nil || !t.retryable(err)) && !isSilence(err) {
		return err
	}
	since := time.Now()
	if asked {
		since = w.question.AskedAt
	}
	if w.Unheard(err, since, callTime) && !(isSilence(err) && w.s.store.clock.Heard(callTime)) {
		return err
	}
	if asked {
		w.pause = min(max(2*w.pause, 50*time.Millisecond), time.Second)
		w.poke.Reset(pace.Jitter(w.pause))
	}
	return nil
}

// outcome tells a busy lock from a store that cannot be asked.
func (w *waiting) outcome() error {
	if silent := w.question.Silent(); w.Down == nil && silent > askSilence {
		return w.s.store.newTimeout(context.DeadlineExceeded, silent)
	}
	return w.Outcome(nil)
}
