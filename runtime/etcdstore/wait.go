package etcdstore

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	etcd "go.etcd.io/etcd/client/v3"

	"github.com/lockgen/lockgen/internal/pace"
	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/internal/waits"
)

const (
	// askAgain is how often a waiter makes sure that it stands in the queue.
	askAgain = 10 * time.Second
	// ownDelay is how long a wait lasts before its own key is watched too.
	ownDelay = 250 * time.Millisecond
)

// rules are how a waiter asks that had no answer. Its place in the queue stays for as long as the class lives.
var rules = waits.Rules{
	Pause: 50 * time.Millisecond, Patience: callTime, Explain: explain,
	Retryable: func(err error) bool { return retryable(err) || errors.Is(err, errNoAnswer) || isFull(err) },
}

// waiter is one Acquire that may stand in a queue.
type waiter struct {
	poke chan struct{}           // look again
	end  context.CancelCauseFunc // its lease was broken, and why
}

// queued is a place in a queue that its caller has left to the next one with the same ID.
type queued struct {
	class *class // has it as a user
	loose
	rev int64 // of the contender's creation; 0: that is not known
}

func (s *session) enlist(id string, end context.CancelCauseFunc) *waiter {
	w := &waiter{poke: make(chan struct{}, 1), end: end}
	s.mu.Lock()
	s.waiters[id] = w
	s.mu.Unlock()
	if s.ctx.Err() != nil {
		end(lockrt.ErrClosed)
	}
	return w
}

// endWaiters is for the end of the session. The end of a context may call methods of the caller's: not while mu is held.
func (s *session) endWaiters() {
	s.mu.Lock()
	all := slices.Collect(maps.Values(s.waiters))
	s.mu.Unlock()
	for _, w := range all {
		w.end(lockrt.ErrClosed)
	}
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
	waits.State
	s    *session
	w    *waiter
	kept bool // it took over a place in the queue

	q      *question        // the last one; nil: the lease has what it brought
	a      answer           // what it said, or a later look
	before *mvccpb.KeyValue // the contender before the own one
	anyone bool             // whoever goes makes room, and not only the one before
	called bool             // readers know that somebody waits
	moved  bool             // the one that was before it has left it behind
	heard  bool             // of a change, since the last look
	alone  bool             // it looks for itself, also in a crowd
	left   time.Duration    // for the look, when that began, callTime at the most
}

// wait is Acquire for a request that may stand in the queue. kept and was are of the place that it takes over.
func (s *session) wait(ctx context.Context, req lockrt.Request, kept bool, was loose) (lockrt.Grant, error) {
	w := &waiting{State: waits.Begin(ctx, req), s: s, kept: kept}
	inner, end := context.WithCancelCause(ctx)
	defer end(nil)
	w.w = s.enlist(req.ID, end)
	defer s.delist(req.ID, w.w)
	grant, err := w.run(inner, was)
	if err == nil {
		return grant, nil
	}
	return lockrt.Grant{}, w.giveUp(ctx, inner, err)
}

// run asks, and waits. The context ends with the caller's, the session, or the lease.
func (w *waiting) run(ctx context.Context, was loose) (lockrt.Grant, error) {
	if err := w.join(ctx, was); err != nil {
		waits.Tell(w.Req, nil, err)
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
		if err := w.Again(ctx, &rules, w.look); err != nil {
			return lockrt.Grant{}, err
		}
	}
}

// join puts the contender, or finds it.
func (w *waiting) join(ctx context.Context, was loose) error {
	bound, began := w.Left(callTime), time.Now()
	if old := w.q; old != nil {
		was = old.loose
		if old.class != nil {
			defer w.s.leave(old.class)
		}
	}
	q, a, err := w.s.ask(ctx, w.Req, bound, was)
	w.q = q
	if err != nil {
		return err
	}
	w.before, w.anyone, w.called, w.moved, w.heard = nil, false, false, false, false
	if a.all == 2 && a.head != nil && !a.granted() && !a.shares && !entryOf(a.head).shared() { // the holder and this one
		w.before = a.head
	}
	if !a.granted() { // who has it may have to be asked
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, began.Add(bound))
		defer cancel()
	}
	return w.said(ctx, a)
}

// said takes the word of etcd.
func (w *waiting) said(ctx context.Context, a answer) (err error) {
	w.a = a
	var busy *lockrt.BusyError
	if !a.granted() && a.head != nil {
		if busy, err = w.s.busy(ctx, w.Req.Key, a.head); err != nil {
			return err
		}
	}
	w.Heard(busy)
	return nil
}

// accept makes a grant of the answer. It reports false if the lease was over before that was known.
func (w *waiting) accept() (lockrt.Grant, bool, error) {
	if !time.Now().Before(w.s.start(w.q.class, w.a.sent, w.Req.TTL).Add(w.Req.TTL)) {
		return lockrt.Grant{}, false, nil
	}
	q := w.q
	w.q = nil
	g, err := w.s.accept(q, w.a)
	if errors.Is(err, errClassOver) { // it joins again, or finds that it is there
		w.q, q.class = q, nil
		return lockrt.Grant{}, false, nil
	}
	return g, err == nil, err
}

// look reads the own contender and those before it. A contender that has gone joins again.
func (w *waiting) look(ctx context.Context) error {
	if w.q == nil || w.q.class == nil || w.q.class.isOver() {
		return w.join(ctx, loose{})
	}
	w.left = leftOf(ctx, w.Left(callTime))
	limited, cancel := bounded(ctx)
	defer cancel()
	if !w.Until.IsZero() {
		limited, cancel = context.WithDeadline(limited, w.Until)
		defer cancel()
	}
	if same, err := w.unchanged(limited); same || err != nil {
		return err
	}
	w.heard = true // from here on the others are read, also if that has to be repeated
	for {
		v, err := w.view(limited)
		if err != nil {
			return err
		}
		w.heard = false
		if v.mine == nil || v.mine.CreateRevision != w.a.mine.CreateRevision {
			return w.join(ctx, loose{})
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
		if v.granted() {
			done, err := w.freshen(limited, &v.answer)
			if err != nil {
				return err
			}
			if !done {
				continue
			}
		}
		if err := w.said(limited, v.answer); err != nil {
			return err
		}
		return w.place(v)
	}
}

// unchanged reports whether the own contender, the one before it and the oldest are as they were, for a waiter that has
// heard of no change. It reads none of the others: if all who wait read all, they ask more of a slow server than it can do.
func (w *waiting) unchanged(ctx context.Context) (bool, error) {
	if w.heard || w.before == nil || w.anyone || w.a.head == nil || w.a.granted() {
		return false, nil
	}
	r, _, err := repeat(ctx, func(ctx context.Context) (*etcd.TxnResponse, error) {
		return w.s.client.Txn(ctx).If(
			changedAt(w.q.me, w.a.mine.ModRevision),
			changedAt(string(w.before.Key), w.before.ModRevision),
			changedAt(string(w.a.head.Key), w.a.head.ModRevision),
		).Commit()
	})
	if err != nil || !r.Succeeded {
		return false, err
	}
	w.a.rev = r.Header.Revision
	w.Heard(w.Busy)
	return true, nil
}

// view is what a look at the queue finds.
type view struct {
	answer
	before *mvccpb.KeyValue   // the contender before the own one
	heads  []*mvccpb.KeyValue // the oldest, as many as there are permits
	queued []*mvccpb.KeyValue // the own one and those behind it, if it is one that shares
}

func (w *waiting) view(ctx context.Context) (v view, err error) {
	if !w.a.shares && !w.alone && w.a.all >= crowd {
		if v, ok, err := w.viewInCrowd(ctx); ok || err != nil {
			return v, err
		}
	}
	me, lock, rev := w.q.me, w.s.space.lock(w.Req.Key), w.a.mine.CreateRevision
	ops := []etcd.Op{
		etcd.OpGet(me), etcd.OpGet(lock, oldest(max(w.Req.Permits, 1))...),
		etcd.OpGet(lock, latest(etcd.WithMaxCreateRev(rev-1))...),
	}
	if w.a.shares {
		line := w.s.fit(admitBatch, func(int) int { return 2 * len(me) }) // as many as are let in at a time
		ops = append(ops, etcd.OpGet(lock, oldest(line, etcd.WithMinCreateRev(rev))...))
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
	v.heads = r.Responses[1].GetResponseRange().Kvs
	if kvs := r.Responses[2].GetResponseRange().Kvs; len(kvs) > 0 {
		v.before = kvs[0]
	}
	if w.a.shares {
		v.queued = r.Responses[3].GetResponseRange().Kvs
	}
	return v, nil
}

// admissions are those that may be let in now, the own contender first.
func (v view) admissions() []admission {
	if !v.shares || v.granted() {
		return nil
	}
	return admissions(v.before, v.heads, v.queued)
}

// place takes the own place in the queue. Whoever is the first behind readers has them told. The error is for one behind
// somebody else's key.
func (w *waiting) place(v view) error {
	w.moved = w.moved || w.before != nil && v.before != nil && v.before.CreateRevision != w.before.CreateRevision
	w.before, w.anyone = v.before, false
	if v.before == nil || v.granted() {
		return nil
	}
	before := entryOf(v.before)
	if before.foreign() {
		return errForeign(v.before)
	}
	w.anyone = before.In && before.Permits > 0 && w.Req.Permits > 0
	if before.In && before.Read && !w.called {
		w.called = true
		w.s.callReaders(w.Req.Key)
	}
	return nil
}

// giveUp ends a wait without a grant, for a reason.
func (w *waiting) giveUp(ctx, inner context.Context, err error) error {
	err, over := w.End(ctx, inner, err)
	switch q := w.q; {
	case q == nil:
		return err
	case w.a.mine == nil && q.doubt == 0 && !w.kept: // nothing was put
		if q.class != nil {
			w.s.leave(q.class)
		}
		w.s.gone(w.Req.Key, w.Req.ID)
		return err
	}
	if over && w.q.class != nil && w.Req.Keep != nil && w.Req.Keep() {
		w.s.mu.Lock()
		place := &queued{class: w.q.class, loose: w.q.loose}
		if w.a.mine != nil {
			place.rev = w.a.mine.CreateRevision
		}
		w.s.places[w.Req.ID] = place
		w.s.mu.Unlock()
		return err
	}
	w.s.takeBack(w.q, w.a.mine)
	return err
}
