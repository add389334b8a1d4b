package etcdstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	etcd "go.etcd.io/etcd/client/v3"

	"github.com/lockgen/lockgen/internal/pace"
	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/internal/timelimit"
)

const (
	// askGrace is how much longer than a short wait the first question may take: it says who holds the lock.
	askGrace = 50 * time.Millisecond
	// askAgain is how often a waiter makes sure that it stands in the queue.
	askAgain = 10 * time.Second
	// ownDelay is how long a wait lasts before its own key is watched too.
	ownDelay = 250 * time.Millisecond
)

var errGrantTooLate = errors.New("the lock was granted and its lease over before that was known")

// waiter is one Acquire that may stand in a queue.
type waiter struct {
	poke chan struct{}           // look again
	end  context.CancelCauseFunc // its lease was broken, and why
}

// queued is a place in a queue that its caller has left to the next one with the same ID.
type queued struct {
	class *class // has it as a user
	doubt int64
	rev   int64 // of the contender's creation; 0: that is not known
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
func (s *session) pickUp(id string) *queued {
	s.mu.Lock()
	defer s.mu.Unlock()
	place := s.places[id]
	delete(s.places, id)
	return place
}

// waiting is the state of one Acquire that waits.
type waiting struct {
	s       *session
	req     lockrt.Request
	w       *waiter
	until   time.Time // zero: no end
	endless bool      // it waits for as long as the store answers, and no longer
	kept    bool      // it took over a place in the queue

	q      *question        // the last one; nil: the lease has what it brought
	a      answer           // what it said, or a later look
	before *mvccpb.KeyValue // the contender before the own one
	anyone bool             // whoever goes makes room, and not only the one before
	called bool             // readers know that somebody waits

	busy *lockrt.BusyError // the last word of etcd, if that named a holder
	down error             // why it could not be asked, the last time
	from time.Time         // since when; zero: it could
}

// wait is Acquire for a request that may stand in the queue. kept and doubt are of the place that it takes over.
func (s *session) wait(ctx context.Context, req lockrt.Request, kept bool, doubt int64) (lockrt.Grant, error) {
	w := &waiting{s: s, req: req, kept: kept}
	if req.Wait != lockrt.Forever {
		w.until = time.Now().Add(req.Wait)
	}
	w.endless = w.until.IsZero() && ctx.Done() == nil
	inner, end := context.WithCancelCause(ctx)
	defer end(nil)
	defer context.AfterFunc(s.ctx, func() { end(lockrt.ErrClosed) })()
	w.w = s.enlist(req.ID, end)
	defer s.delist(req.ID, w.w)
	grant, err := w.run(inner, doubt)
	if err == nil {
		return grant, nil
	}
	return lockrt.Grant{}, w.giveUp(ctx, inner, err)
}

// run asks, and waits. The context ends with the caller's, the session, or the lease.
func (w *waiting) run(ctx context.Context, doubt int64) (lockrt.Grant, error) {
	bound := callTime
	if !w.until.IsZero() {
		bound = min(bound, w.req.Wait+askGrace)
	}
	if err := w.join(ctx, bound, doubt); err != nil {
		tell(w.req, nil, err)
		return lockrt.Grant{}, err
	}
	for {
		if !w.a.granted() {
			if err := w.stand(ctx); err != nil {
				return lockrt.Grant{}, err
			}
		}
		if w.a.granted() {
			if grant, ok, err := w.accept(); ok || err != nil {
				return grant, err
			}
		}
		if err := w.again(ctx); err != nil {
			return lockrt.Grant{}, err
		}
	}
}

// join puts the contender, or finds it.
func (w *waiting) join(ctx context.Context, bound time.Duration, doubt int64) error {
	if old := w.q; old != nil {
		doubt = old.doubt
		if old.class != nil {
			defer w.s.leave(old.class)
		}
	}
	q, a, err := w.s.ask(ctx, w.req, bound, doubt)
	w.q = q
	if err != nil {
		return err
	}
	w.before, w.anyone, w.called = nil, false, false
	if a.all == 2 && !a.granted() && !a.shares && !entryOf(a.head).shared() { // the holder and this one
		w.before = a.head
	}
	w.said(ctx, a)
	return nil
}

// said takes the word of etcd.
func (w *waiting) said(ctx context.Context, a answer) {
	w.a, w.down, w.from = a, nil, time.Time{}
	if a.granted() {
		return
	}
	if a.head != nil {
		w.busy = w.s.busy(ctx, w.req.Key, a.head)
		tell(w.req, w.busy, nil)
	}
}

// accept makes a grant of the answer. It reports false if the lease was over before that was known.
func (w *waiting) accept() (lockrt.Grant, bool, error) {
	if !time.Now().Before(w.s.start(w.q.class, w.a.sent, w.req.TTL).Add(w.req.TTL)) {
		return lockrt.Grant{}, false, nil
	}
	q := w.q
	w.q = nil
	g, err := w.s.accept(q, w.a)
	if errors.Is(err, errClassOver) { // so is the contender: it joins again
		return lockrt.Grant{}, false, nil
	}
	return g, err == nil, err
}

// again looks at the queue once more. A contender that has gone joins again.
func (w *waiting) again(ctx context.Context) error {
	var pause time.Duration
	for {
		began := time.Now()
		err := w.look(ctx)
		if err == nil {
			return nil
		}
		if ctx.Err() != nil || w.over() {
			return w.outcome(explain(context.Background(), began, err))
		}
		if err := w.unheard(err, began); err != nil {
			return err
		}
		pause = pace.Backoff(pause, 50*time.Millisecond, time.Second)
		if !w.until.IsZero() {
			pause = min(pause, max(time.Until(w.until), time.Millisecond))
		}
		pace.Sleep(ctx, pace.Jitter(pause))
	}
}

func (w *waiting) over() bool { return !w.until.IsZero() && !time.Now().Before(w.until) }

// look reads the own contender and those before it.
func (w *waiting) look(ctx context.Context) error {
	if w.q == nil || w.q.class == nil || w.q.class.isOver() {
		return w.join(ctx, callTime, 0)
	}
	limited, cancel := bounded(ctx)
	defer cancel()
	if !w.until.IsZero() {
		limited, cancel = context.WithDeadline(limited, w.until)
		defer cancel()
	}
	for {
		v, err := w.view(limited)
		if err != nil {
			return err
		}
		if v.mine == nil || v.mine.CreateRevision != w.a.mine.CreateRevision {
			return w.join(ctx, callTime, 0)
		}
		in := v.admissions()
		if len(in) > 0 {
			done, err := w.s.admit(limited, &v.answer, in)
			if err != nil {
				return err
			}
			if !done {
				continue
			}
		}
		w.place(v)
		w.said(limited, v.answer)
		return nil
	}
}

// view is what a look at the queue finds.
type view struct {
	answer
	before *mvccpb.KeyValue   // the contender before the own one
	crowd  []*mvccpb.KeyValue // the oldest, as many as there are permits
	line   []*mvccpb.KeyValue // the own one and those behind it, if it is one that shares
}

func (w *waiting) view(ctx context.Context) (v view, err error) {
	me, lock, rev := w.q.me, w.s.space.lock(w.req.Key), w.a.mine.CreateRevision
	ops := []etcd.Op{
		etcd.OpGet(me), etcd.OpGet(lock, oldest(max(w.req.Permits, 1))...),
		etcd.OpGet(lock, latest(etcd.WithMaxCreateRev(rev-1))...),
	}
	if w.a.shares {
		ops = append(ops, etcd.OpGet(lock, oldest(admitBatch, etcd.WithMinCreateRev(rev))...))
	}
	v.ground, v.shares = w.a.ground, w.a.shares
	r, _, err := repeat(ctx, func(ctx context.Context) (*etcd.TxnResponse, error) {
		v.sent = time.Now()
		return w.s.client.Txn(ctx).Then(ops...).Commit()
	})
	if err != nil {
		return view{}, err
	}
	v.rev = r.Header.Revision
	v.read(r.Responses)
	v.crowd = r.Responses[1].GetResponseRange().Kvs
	if kvs := r.Responses[2].GetResponseRange().Kvs; len(kvs) > 0 {
		v.before = kvs[0]
	}
	if w.a.shares {
		v.line = r.Responses[3].GetResponseRange().Kvs
	}
	return v, nil
}

// admissions are those that may be let in now, the own contender first.
func (v view) admissions() []admission {
	if !v.shares || v.granted() {
		return nil
	}
	return admissions(v.before, v.crowd, v.line)
}

// place takes the own place in the queue. Whoever is the first behind readers has them told.
func (w *waiting) place(v view) {
	w.before, w.anyone = v.before, false
	if v.before == nil || v.granted() {
		return
	}
	before := entryOf(v.before)
	w.anyone = before.In && before.Permits > 0 && w.req.Permits > 0
	if before.In && before.Read && !w.called {
		w.called = true
		w.s.callReaders(w.req.Key, w.q.class)
	}
}

// unheard is for servers that cannot be asked for a moment; the place in the queue stays for as long as the class
// lives. Who waits without any end hears of it after callTime.
func (w *waiting) unheard(err error, began time.Time) error {
	if w.from.IsZero() {
		w.from = began
	}
	err = explain(context.Background(), w.from, err)
	tell(w.req, nil, err)
	if !retryable(err) && !errors.Is(err, errNoAnswer) && !isFull(err) {
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
	}
	switch q := w.q; {
	case q == nil:
		return err
	case w.a.mine == nil && q.doubt == 0 && !w.kept: // nothing was put
		if q.class != nil {
			w.s.leave(q.class)
		}
		w.s.gone(w.req.Key, w.req.ID)
		return err
	}
	if over && w.q.class != nil && w.req.Keep != nil && w.req.Keep() {
		w.s.mu.Lock()
		place := &queued{class: w.q.class, doubt: w.q.doubt}
		if w.a.mine != nil {
			place.rev = w.a.mine.CreateRevision
		}
		w.s.places[w.req.ID] = place
		w.s.mu.Unlock()
		return err
	}
	w.s.takeBack(w.q, w.a.mine)
	return err
}

// tell lets the Locker know what the store said.
func tell(req lockrt.Request, busy *lockrt.BusyError, err error) {
	if req.Told != nil {
		req.Told(busy, err)
	}
}
