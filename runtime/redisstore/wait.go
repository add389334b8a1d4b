package redisstore

import (
	"context"
	"errors"
	"sync"
	"time"

	lockrt "github.com/lockgen/lockgen/runtime"
)

// waiter is one Acquire that may have to wait. It is known to listen before the request is sent, because the push may
// overtake the answer.
type waiter struct {
	keys   lockKeys
	queued bool          // guarded by session.mu; the server has it in the queue
	asks   time.Time     // guarded by session.mu; when it will ask again by itself
	grants chan pushed   // buffered: listen never waits
	pokes  chan struct{} // buffered: ask the server again
}

// pushed is a grant that arrived on the channel.
type pushed struct {
	epoch uint64
	since int64
}

// waiterPool saves the channels of waiters that did not have to wait.
var waiterPool = sync.Pool{New: func() any {
	return &waiter{grants: make(chan pushed, 1), pokes: make(chan struct{}, 1)}
}}

// wait queues up and returns with the grant, however it becomes known: by the push of whoever hands on the lock, or by
// an answer to a poke. A poke is acquire.lua once more, at the end of the lease that stands in the way and after every
// resubscription; so a lost push costs time and nothing else.
func (s *session) wait(ctx context.Context, req lockrt.Request) (lockrt.Grant, error) {
	w := waiterPool.Get().(*waiter)
	w.keys = s.space.keys(req.Key)
	s.enlist(req.ID, w)
	defer s.delist(req.ID, w)
	a, err := s.ask(ctx, w.keys, req)
	switch {
	case err != nil:
		s.abandon(req, w.keys, err)
		return lockrt.Grant{}, withContext(ctx, err)
	case a.granted && current(a.grant(), req.TTL):
		return a.grant(), nil
	}
	grant, err := s.await(ctx, req, w, a)
	if err != nil {
		s.abandon(req, w.keys, err)
	}
	return grant, err
}

// await is the wait of one that is in the queue. last is what the server said last.
func (s *session) await(ctx context.Context, req lockrt.Request, w *waiter, last answer) (lockrt.Grant, error) {
	var budget <-chan time.Time
	if req.Wait != lockrt.Forever {
		timer := time.NewTimer(req.Wait)
		defer timer.Stop()
		budget = timer.C
	}
	poke := time.NewTimer(s.queued(w, last))
	defer poke.Stop()
	var (
		down    error // why the server could not be asked, the last time
		backoff time.Duration
	)
	for {
		select {
		case p := <-w.grants:
			grant := lockrt.Grant{Epoch: p.epoch, Start: last.clock.at(p.since)}
			if now := time.Now(); grant.Start.After(now) {
				grant.Start = now
			}
			if current(grant, req.TTL) {
				return grant, nil
			}
		case <-ctx.Done():
			return lockrt.Grant{}, errors.Join(ctx.Err(), gaveUp(last, req.Key, down))
		case <-s.ctx.Done():
			return lockrt.Grant{}, lockrt.ErrClosed
		case <-budget:
			return lockrt.Grant{}, gaveUp(last, req.Key, down)
		case <-w.pokes:
		case <-poke.C:
		}
		a, err := s.ask(ctx, w.keys, req)
		switch {
		case err == nil && a.granted && current(a.grant(), req.TTL):
			return a.grant(), nil
		case err == nil:
			last, down, backoff = a, nil, 0
			poke.Reset(s.queued(w, a))
		case ctx.Err() != nil:
			return lockrt.Grant{}, errors.Join(withContext(ctx, err), last.busy(req.Key))
		case !retryable(err):
			return lockrt.Grant{}, err
		default:
			// The server is away for a moment; the place in the queue is kept as long as it remembers.
			down, backoff = err, min(max(2*backoff, 50*time.Millisecond), time.Second)
			poke.Reset(jitter(backoff))
		}
	}
}

// current reports whether a grant may still be in force. One that came so late that its lease is over says nothing
// about the present: another owner may have come and gone, and the waiter may stand in the queue again. It asks once
// more.
func current(g lockrt.Grant, ttl time.Duration) bool { return time.Since(g.Start) < ttl }

// gaveUp tells a busy lock from a store that cannot be asked.
func gaveUp(last answer, key string, down error) error {
	if down != nil {
		return down
	}
	return last.busy(key)
}

// pokeAfter is when the lease in the way should be over; a little later, not at once for all processes that wait.
func pokeAfter(remaining time.Duration) time.Duration {
	return max(remaining, 0) + time.Millisecond + jitter(10*time.Millisecond)
}

func (s *session) enlist(id string, w *waiter) {
	s.mu.Lock()
	s.waiters[id] = w
	s.mu.Unlock()
}

// delist makes sure that nobody reaches the waiter any more, and keeps it for another one.
func (s *session) delist(id string, w *waiter) {
	s.mu.Lock()
	delete(s.waiters, id)
	s.mu.Unlock()
	select {
	case <-w.grants:
	default:
	}
	select {
	case <-w.pokes:
	default:
	}
	w.keys, w.queued, w.asks = lockKeys{}, false, time.Time{}
	waiterPool.Put(w)
}

// queued lets keepAlive care for the waiter. It returns when to ask again.
func (s *session) queued(w *waiter, a answer) time.Duration {
	after := pokeAfter(a.remaining)
	s.mu.Lock()
	if w.asks = time.Now().Add(after); !w.queued {
		w.queued = true
		wake(s.wakeKeeper)
	}
	s.mu.Unlock()
	return after
}

// wake makes one pending signal of any number.
func wake(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
