package zkstore

import (
	"context"
	"errors"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/lockgen/lockgen/internal/pace"
	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/internal/waits"
)

const (
	// askAgain is how often a waiter makes sure that it stands in the queue, about.
	askAgain = 10 * time.Second
)

// rules are how a waiter asks that had no answer. Its place in the queue stays for as long as its session of ZooKeeper
// lives.
var rules = waits.Rules{
	Pause: 20 * time.Millisecond, Patience: callTime, Explain: explain, Retryable: isRetryable,
}

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

// pickUp takes a place that was kept for this request; nil: there is none. Until wait has it, or putDown, the request is
// joining.
func (s *session) pickUp(id string) *place {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.places[id]
	if p != nil {
		s.weight -= p.weight()
		delete(s.places, id)
		s.joining[id]++
	}
	return p
}

// putDown gives up a place that was picked up, if there is one.
func (s *session) putDown(kept *place) {
	if kept != nil {
		s.leave(kept)
		s.joined(kept.id, nil)
	}
}

// waiting is the state of one Acquire that waits.
type waiting struct {
	waits.State
	s     *session
	w     *waiter
	began time.Time

	p     *place // its contender; nil: it has none
	a     answer // what ZooKeeper said last
	again bool   // it looks again without a reason
	path  string // of the node that is watched
	watch changes
}

// wait is Acquire for a request that may stand in the queue, in the place that was kept for it, if there is one.
func (s *session) wait(ctx context.Context, req lockrt.Request, kept *place) (lockrt.Grant, error) {
	w := &waiting{State: waits.Begin(ctx, req), s: s, began: time.Now()}
	inner, end := context.WithCancelCause(ctx)
	defer end(nil)
	defer context.AfterFunc(s.ctx, func() { end(lockrt.ErrClosed) })()
	w.w = s.enlist(req.ID, end)
	defer s.delist(req.ID, w.w)
	w.take(kept)
	if kept != nil {
		s.joined(req.ID, kept)
	}
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
	err := w.look(ctx)
	if err != nil && (ctx.Err() != nil || w.p == nil || w.Over()) {
		waits.Tell(w.Req, nil, err)
		return lockrt.Grant{}, err
	}
	for {
		if err == nil && !w.a.mine {
			if err := w.stand(ctx); err != nil {
				return lockrt.Grant{}, err
			}
		}
		if err == nil && w.a.mine {
			grant, err := w.accept(ctx)
			if err == nil {
				return grant, nil
			}
			if errors.Is(err, errNoPlace) {
				w.take(nil)
			} else if !isRetryable(err) && !errors.Is(err, waits.ErrTooLate) {
				return lockrt.Grant{}, err
			}
		}
		if err = w.Again(ctx, &rules, w.look); err != nil {
			return lockrt.Grant{}, err
		}
	}
}

func (w *waiting) accept(ctx context.Context) (lockrt.Grant, error) {
	limited, cancel := w.bounded(ctx)
	defer cancel()
	return w.s.accept(limited, w.p, w.Req, w.a)
}

// look puts the contender in the queue if it is not there, and finds out who holds the lock.
func (w *waiting) look(ctx context.Context) error {
	limited, cancel := w.bounded(ctx)
	defer cancel()
	for {
		err := w.lookOnce(limited)
		if errors.Is(err, errExpired) && limited.Err() == nil {
			w.take(nil)
			continue
		}
		return err
	}
}

// bounded is [bounded] for a question of a wait, which ends with that.
func (w *waiting) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	limited, cancel := bounded(ctx)
	bound := w.Left(callTime)
	if bound >= callTime {
		return limited, cancel
	}
	limited, end := context.WithTimeout(limited, bound)
	return limited, func() {
		end()
		cancel()
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
		p := w.s.again(l, w.Req.ID)
		if p == nil {
			if p, a, err = w.s.join(ctx, l, w.Req); err != nil {
				return err
			}
		}
		w.take(p)
	}
	if !a.mine {
		if a, err = w.lookAt(ctx, l); err != nil {
			return err
		}
	}
	if a.gone { // somebody has deleted it
		w.take(nil)
		return errMoved
	}
	var busy *lockrt.BusyError
	if !a.mine && a.head != "" {
		if busy, err = l.holder(ctx, w.Req.Key, a.head); err != nil {
			return err
		}
	}
	w.a = a
	w.Heard(busy)
	return nil
}

// lookAt looks at the queue. Without a reason to look, one that others saw a while ago will do, if it is as it was.
func (w *waiting) lookAt(ctx context.Context, l *link) (answer, error) {
	if w.again {
		w.again = false
		a, err := l.lookSince(ctx, w.Req.Key, w.p, time.Now().Add(-askAgain/2))
		if err != nil || !a.gone && !a.mine && a.before == w.a.before {
			return a, err
		}
	}
	return l.look(ctx, w.Req.Key, w.p)
}

// stand waits until the one before has gone, or for a reason to look again. It returns an error when the wait is over.
func (w *waiting) stand(ctx context.Context) error {
	l := w.p.l
	there, err := w.watchBefore(ctx)
	if err != nil || !there {
		return w.Late(ctx)
	}
	budget, stop := w.Budget()
	defer stop()
	var kept <-chan time.Time
	if w.a.left > 0 {
		timer := time.NewTimer(w.a.left)
		defer timer.Stop()
		kept = timer.C
	}
	later := time.NewTimer(pace.Jitter(askAgain))
	defer later.Stop()
	select {
	case <-w.watch.events:
		w.path = ""
	case <-l.gone:
	case <-w.w.poke:
	case <-kept:
	case <-later.C:
		w.again = true
	case <-budget:
		return w.Outcome(nil)
	case <-ctx.Done():
		return w.Outcome(nil)
	}
	return w.Late(ctx)
}

// watchBefore watches the node before the contender, once on each connection: the client cannot stop. It reports
// whether the node is there.
func (w *waiting) watchBefore(ctx context.Context) (there bool, err error) {
	if l := w.p.l; w.path == w.a.before && w.watch.up == l.connection() {
		return true, nil
	}
	limited, cancel := w.bounded(ctx)
	defer cancel()
	w.watch, err = w.p.l.watchShared(limited, w.a.before)
	w.path = w.a.before
	if errors.Is(err, zk.ErrNoNode) {
		return false, nil
	}
	return err == nil, err
}

// giveUp ends a wait without a grant, for a reason.
func (w *waiting) giveUp(ctx, inner context.Context, err error) error {
	err, over := w.End(ctx, inner, explain(ctx, w.began, err))
	p := w.p
	if p == nil {
		return err
	}
	if over && w.Req.Keep != nil && w.Req.Keep() {
		w.s.mu.Lock()
		w.s.places[w.Req.ID] = p
		w.s.weight += p.weight()
		w.s.mu.Unlock()
		return err
	}
	w.take(nil) // or seek would spare it
	w.s.leave(p)
	return err
}
