package zkstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/lockgen/lockgen/internal/pace"
	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/internal/timelimit"
)

const (
	// askGrace is how much longer than a short wait the first question may take: it says who holds the lock.
	askGrace = 50 * time.Millisecond
	// askAgain is how often a waiter makes sure that it stands in the queue.
	askAgain = 10 * time.Second
)

// waiter is one Acquire that may stand in a queue.
type waiter struct {
	poke chan struct{}           // look again
	end  context.CancelCauseFunc // its lease was broken, and why
	path string                  // of its contender; "": it has none
}

func (s *session) enlist(id string, end context.CancelCauseFunc) *waiter {
	w := &waiter{poke: make(chan struct{}, 1), end: end}
	s.mu.Lock()
	s.waiters[id] = w
	s.mu.Unlock()
	return w
}

func (s *session) delist(id string, w *waiter) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.waiters[id] == w {
		delete(s.waiters, id)
	}
}

// askAll lets all waiters look again.
func (s *session) askAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range s.waiters {
		pace.Wake(w.poke)
	}
}

// pickUp takes a place that was kept for this request; nil: there is none.
func (s *session) pickUp(id string) *place {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.places[id]
	delete(s.places, id)
	return p
}

// waiting is the state of one Acquire that waits.
type waiting struct {
	s       *session
	req     lockrt.Request
	w       *waiter
	began   time.Time
	until   time.Time // zero: no end
	endless bool      // it waits for as long as the store answers, and no longer

	p     *place // its contender; nil: it has none
	a     answer // what ZooKeeper said last
	path  string // of the node that is watched
	watch changes

	busy *lockrt.BusyError // the last word of ZooKeeper, if that named a holder
	down error             // why it could not be asked, the last time
	from time.Time         // since when; zero: it could
}

// wait is Acquire for a request that may stand in the queue, in the place that was kept for it, if there is one.
func (s *session) wait(ctx context.Context, req lockrt.Request, kept *place) (lockrt.Grant, error) {
	w := &waiting{s: s, req: req, began: time.Now()}
	if req.Wait != lockrt.Forever {
		w.until = time.Now().Add(req.Wait)
	}
	w.endless = w.until.IsZero() && ctx.Done() == nil
	inner, end := context.WithCancelCause(ctx)
	defer end(nil)
	defer context.AfterFunc(s.ctx, func() { end(lockrt.ErrClosed) })()
	w.w = s.enlist(req.ID, end)
	defer s.delist(req.ID, w.w)
	w.take(kept)
	grant, err := w.run(inner)
	if err == nil {
		return grant, nil
	}
	return lockrt.Grant{}, w.giveUp(ctx, inner, err)
}

// take makes a contender that of the waiter.
func (w *waiting) take(p *place) {
	w.s.mu.Lock()
	defer w.s.mu.Unlock()
	w.p, w.w.path = p, ""
	if p != nil {
		w.w.path = p.path
	}
}

// run asks, and waits. The context ends with the caller's, the session, or the lease.
func (w *waiting) run(ctx context.Context) (lockrt.Grant, error) {
	bound := callTime
	if !w.until.IsZero() {
		bound = min(bound, w.req.Wait+askGrace)
	}
	err := w.look(ctx, bound)
	if err != nil && (ctx.Err() != nil || w.p == nil) {
		tell(w.req, nil, err)
		return lockrt.Grant{}, err
	}
	for {
		if err == nil && !w.a.mine {
			if err := w.stand(ctx); err != nil {
				return lockrt.Grant{}, err
			}
		}
		if err == nil && w.a.mine {
			grant, err := w.s.accept(ctx, w.p, w.req, w.a)
			if err == nil {
				return grant, nil
			}
			if errors.Is(err, errNoPlace) {
				w.take(nil)
			} else if !isRetryable(err) && !errors.Is(err, errGrantTooLate) {
				return lockrt.Grant{}, err
			}
		}
		if err = w.again(ctx); err != nil {
			return lockrt.Grant{}, err
		}
	}
}

// again looks at the queue once more. A contender that has gone joins again.
func (w *waiting) again(ctx context.Context) error {
	var pause time.Duration
	for {
		began := time.Now()
		err := w.look(ctx, callTime)
		if err == nil {
			return nil
		}
		if ctx.Err() != nil || w.over() {
			return w.outcome(explain(context.Background(), began, err))
		}
		if err := w.unheard(err, began); err != nil {
			return err
		}
		pause = pace.Backoff(pause, 20*time.Millisecond, time.Second)
		if !w.until.IsZero() {
			pause = min(pause, max(time.Until(w.until), time.Millisecond))
		}
		pace.Sleep(ctx, pace.Jitter(pause))
	}
}

func (w *waiting) over() bool { return !w.until.IsZero() && !time.Now().Before(w.until) }

// look puts the contender in the queue if it is not there, and finds out who holds the lock.
func (w *waiting) look(ctx context.Context, bound time.Duration) error {
	limited, cancel := bounded(ctx)
	defer cancel()
	if bound < callTime {
		limited, cancel = context.WithTimeout(limited, bound)
		defer cancel()
	}
	for {
		err := w.lookOnce(limited)
		if errors.Is(err, errExpired) && limited.Err() == nil {
			w.take(nil)
			continue
		}
		return err
	}
}

func (w *waiting) lookOnce(ctx context.Context) (err error) {
	l, err := w.s.link(ctx)
	if err != nil {
		return err
	}
	if w.p != nil && w.p.l != l {
		w.take(nil)
	}
	a := answer{sent: time.Now()}
	if w.p == nil {
		p := w.s.again(l, w.req.ID)
		if p == nil {
			if p, a, err = w.s.join(ctx, l, w.req); err != nil {
				return err
			}
		}
		w.take(p)
	}
	if !a.mine {
		if a, err = l.look(ctx, w.req.Key, w.p); err != nil {
			return err
		}
	}
	if a.gone { // somebody has deleted it
		w.take(nil)
		return errMoved
	}
	if !a.mine && a.head != "" {
		busy, err := l.holder(ctx, w.req.Key, a.head)
		if err != nil {
			return err
		}
		if busy != nil {
			w.busy = busy
			tell(w.req, busy, nil)
		}
	}
	w.a, w.down, w.from = a, nil, time.Time{}
	return nil
}

// stand waits until the one before has gone, or for a reason to look again. It returns an error when the wait is over.
func (w *waiting) stand(ctx context.Context) error {
	l := w.p.l
	there, err := w.watchBefore(ctx)
	if err != nil || !there {
		return w.late(ctx)
	}
	budget, kept := make(<-chan time.Time), make(<-chan time.Time)
	if !w.until.IsZero() {
		timer := time.NewTimer(time.Until(w.until))
		defer timer.Stop()
		budget = timer.C
	}
	if w.a.left > 0 {
		timer := time.NewTimer(w.a.left)
		defer timer.Stop()
		kept = timer.C
	}
	later := time.NewTimer(askAgain)
	defer later.Stop()
	select {
	case <-w.watch.events:
		w.path = ""
	case <-l.gone:
	case <-w.w.poke:
	case <-kept:
	case <-later.C:
	case <-budget:
		return w.outcome(nil)
	case <-ctx.Done():
		return w.outcome(nil)
	}
	return w.late(ctx)
}

// watchBefore watches the node before the contender, once on each connection: the client cannot stop. It reports
// whether the node is there.
func (w *waiting) watchBefore(ctx context.Context) (there bool, err error) {
	if l := w.p.l; w.path == w.a.before && w.watch.up == l.connection() {
		return true, nil
	}
	limited, cancel := bounded(ctx)
	defer cancel()
	_, w.watch, err = w.p.l.watchNode(limited, w.a.before)
	w.path = w.a.before
	if errors.Is(err, zk.ErrNoNode) {
		return false, nil
	}
	return err == nil, err
}

// late is the error of a wait that is over.
func (w *waiting) late(ctx context.Context) error {
	if ctx.Err() != nil || w.over() {
		return w.outcome(nil)
	}
	return nil
}

// unheard is for servers that cannot be asked for a moment; the place in the queue stays for as long as its session of
// ZooKeeper lives. Who waits without any end hears of it after callTime.
func (w *waiting) unheard(err error, began time.Time) error {
	if w.from.IsZero() {
		w.from = began
	}
	err = explain(context.Background(), w.from, err)
	tell(w.req, nil, err)
	if !isRetryable(err) {
		return err
	}
	w.down = err
	if w.endless && time.Since(w.from) >= callTime {
		return err
	}
	return nil
}

// outcome tells a busy lock from a store that cannot be asked.
func (w *waiting) outcome(err error) error {
	switch {
	case w.down != nil:
		return w.down
	case w.busy != nil:
		return w.busy
	case err != nil:
		return err
	}
	return errGrantTooLate
}

// giveUp ends a wait without a grant, for a reason.
func (w *waiting) giveUp(ctx, inner context.Context, err error) error {
	ended := timelimit.Ended(ctx)
	over := ended != nil || w.over()
	switch cause := context.Cause(inner); {
	case ended != nil:
		if err = w.outcome(nil); errors.Is(err, errGrantTooLate) {
			err = nil
		}
		err = errors.Join(ended, err)
	case errors.Is(cause, lockrt.ErrClosed):
		err, over = lockrt.ErrClosed, false
	case cause != nil:
		err, over = fmt.Errorf("%w: %w", lockrt.ErrLost, cause), false
	default:
		err = explain(ctx, w.began, err)
	}
	p := w.p
	if p == nil {
		return err
	}
	if over && w.req.Keep != nil && w.req.Keep() {
		w.s.mu.Lock()
		w.s.places[w.req.ID] = p
		w.s.mu.Unlock()
		return err
	}
	w.take(nil) // or seek would spare it
	w.s.leave(p)
	return err
}

// tell lets the Locker know what the store said.
func tell(req lockrt.Request, busy *lockrt.BusyError, err error) {
	if req.Told != nil {
		req.Told(busy, err)
	}
}
