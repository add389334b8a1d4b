package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lockgen/lockgen/internal/pace"
	lockrt "github.com/lockgen/lockgen/runtime"
)

const (
	// askGrace is how long the first question may take at least, however short the wait: it says who holds the lock.
	askGrace = 50 * time.Millisecond
	// askSilence is how long the server may stay silent before its last answer is out of date.
	askSilence = 250 * time.Millisecond
	// guardPause and guardPauseMax are how long a lock is left alone whose holder is in a guarded transaction.
	guardPause    = 10 * time.Millisecond
	guardPauseMax = 250 * time.Millisecond
)

var errGrantTooLate = errors.New("the lock was granted and its lease over before that was known")

// wait is Acquire for a request that may stand in the queue.
func (s *session) wait(ctx context.Context, q *request) (lockrt.Grant, error) {
	until, bound := time.Time{}, callTime
	if q.req.Wait != lockrt.Forever {
		until = time.Now().Add(q.req.Wait)
		bound = min(bound, max(q.req.Wait, askGrace))
	}
	w := s.enlist(q)
	defer s.delist(w)
	a, err := s.ask(ctx, q, bound)
	s.doubt(q.id, q.req.Key, a.latest)
	over := ctx.Err() != nil || !until.IsZero() && time.Now().After(until)
	if err != nil && (over || !isSilence(err) || !s.store.clock.Heard(callTime)) {
		tell(q.req, nil, err)
		s.giveUp(q, over)
		return lockrt.Grant{}, err
	}
	if err == nil && a.outcome == granted && current(a.grant(q.req), q.req) {
		return s.accept(q, a), nil
	}
	state := waiting{s: s, q: q, w: w, until: until, endless: until.IsZero() && ctx.Done() == nil, askedAt: time.Now()}
	return state.await(ctx, heard{answer: a, err: err})
}

// isSilence reports whether an error says no more than that there was no answer in time. While the server answers
// others, there are only many before this one.
func isSilence(err error) bool { return errors.Is(err, errNoAnswer) || errors.Is(err, errConflict) }

// giveUp takes a request back that its caller has given up. over says that the caller's time was: then the place may
// stay for the next of its process.
func (s *session) giveUp(q *request, over bool) {
	if over && q.req.Keep != nil && q.req.Keep() {
		return
	}
	s.abandon(q.id, q.req.Key, q.req.TTL)
}

// current reports whether a grant may still be in force. One that came so late that its lease is over says nothing
// about the present.
func current(g lockrt.Grant, req lockrt.Request) bool {
	ttl := req.TTL
	if g.TTL != 0 {
		ttl = g.TTL
	}
	return time.Since(g.Start) < ttl
}

// waiting is the state of one that stands in the queue.
type waiting struct {
	s       *session
	q       *request
	w       *waiter
	until   time.Time // zero: no end
	endless bool      // it waits for as long as the store answers, and no longer

	clock clockPair         // of the last answer
	busy  *lockrt.BusyError // the server's last word, if that named a holder
	down  error             // why the server could not be asked, the last time
	since time.Time         // since when; zero: it could
	pause time.Duration     // before the next question
	poke  *time.Timer

	asked   <-chan heard // the question under way, or nil
	askedAt time.Time
	leave   context.CancelFunc // ends it
	again   bool               // another one is to follow
}

// heard is what the server said, to a question or to a poll.
type heard struct {
	answer
	err  error
	poke bool // a poll says no more than that the request is to ask
}

// await waits in the queue. first is what the server said to the first question.
func (w *waiting) await(ctx context.Context, first heard) (lockrt.Grant, error) {
	var budget <-chan time.Time
	if !w.until.IsZero() {
		timer := time.NewTimer(time.Until(w.until))
		defer timer.Stop()
		budget = timer.C
	}
	w.poke = time.NewTimer(time.Hour)
	defer w.poke.Stop()
	defer w.settleQuestion()
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
		case r := <-w.asked:
			w.leave()
			w.asked = nil
			if grant, err = w.hear(ctx, r, true); w.again && err == nil && grant == nil {
				w.again = false
				w.ask(ctx)
			}
		}
	}
	if err != nil {
		w.settleQuestion() // before the caller gives up: what the question brings is known then
		over := ctx.Err() != nil || !w.until.IsZero() && !time.Now().Before(w.until)
		w.s.giveUp(w.q, over && !errors.Is(err, lockrt.ErrLost) && !errors.Is(err, lockrt.ErrClosed))
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
	s, q := w.s, w.s.newRequest(w.q.req) // what an earlier question still does is its own
	q.slow = true
	s.calls.Start(func() {
		a, err := s.ask(ctx, q, callTime)
		s.doubt(q.id, q.req.Key, a.latest)
		answered <- heard{answer: a, err: err}
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

// hear takes the server's word, or that there was none. asked says that it answers a question of this request, and not
// a poll.
func (w *waiting) hear(ctx context.Context, h heard, asked bool) (*lockrt.Grant, error) {
	switch {
	case h.err != nil:
		return nil, w.unheard(ctx, h.err, asked)
	case !asked && h.clock.Micros < w.clock.Micros:
		return nil, nil // overtaken by an answer
	case h.outcome == broken:
		return nil, errBrokenUnknown
	case h.outcome == granted && current(h.grant(w.q.req), w.q.req):
		grant := w.s.accept(w.q, h.answer)
		return &grant, nil
	case h.outcome == granted:
		w.ask(ctx)
		return nil, nil
	}
	w.clock, w.down, w.since = h.clock, nil, time.Time{}
	w.busy = h.busy(w.q.req.Key)
	tell(w.q.req, w.busy, nil)
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
	tell(w.q.req, nil, err)
	if t := w.s.store.known.Load(); asked && (t == nil || !t.retryable(err)) && !isSilence(err) {
		return err
	}
	if w.since.IsZero() {
		w.since = time.Now()
		if asked {
			w.since = w.askedAt
		}
	}
	if w.endless && time.Since(w.since) >= callTime && !(isSilence(err) && w.s.store.clock.Heard(callTime)) {
		return err
	}
	w.down = err
	if asked {
		w.pause = min(max(2*w.pause, 50*time.Millisecond), time.Second)
		w.poke.Reset(pace.Jitter(w.pause))
	}
	return nil
}

// outcome tells a busy lock from a store that cannot be asked.
func (w *waiting) outcome() error {
	switch {
	case w.down != nil:
		return w.down
	case w.asked != nil && time.Since(w.askedAt) > askSilence:
		return newTimeout(context.DeadlineExceeded, time.Since(w.askedAt), w.s.store.db)
	case w.busy != nil:
		return w.busy
	}
	return errGrantTooLate
}
