package redisstore

import (
	"sync"
	"time"

	"github.com/lockgen/lockgen/internal/pace"
)

// waiter is one Acquire that may have to wait. It is known to listen before the request is sent, because the push may
// overtake the answer.
type waiter struct {
	keys    lockKeys
	endless bool          // the wait has no end; it gives up if the store does not answer
	queue   *queue        // guarded by session.mu; nil until an answer says that it is in the server's queue
	index   int           // guarded by session.mu; its place in queue.waiters
	asks    time.Time     // guarded by session.mu; when it asks again by itself
	grants  chan pushed   // buffered, so that listen never blocks
	pokes   chan struct{} // buffered; tells the waiter to ask the server again
	lost    chan error    // buffered; the reason why an operator broke the lease
}

// pushed is a grant that arrived on the channel.
type pushed struct {
	epoch uint64
	since int64
	ttl   time.Duration
	slot  int // the permit's slot
}

// queue is the waiters of this process for one lock. It is guarded by session.mu.
type queue struct {
	keys    lockKeys
	waiters []*waiter // in no order
	shown   time.Time // a moment not after the last sign of life there
}

// waiterPool saves the channels of waiters that did not have to wait.
var waiterPool = sync.Pool{New: func() any {
	return &waiter{grants: make(chan pushed, 1), pokes: make(chan struct{}, 1), lost: make(chan error, 1)}
}}

func (s *session) enlist(id string, keys lockKeys, endless bool) *waiter {
	w := waiterPool.Get().(*waiter)
	w.keys, w.endless = keys, endless
	s.mu.Lock()
	s.waiters[id] = w
	s.mu.Unlock()
	return w
}

// delist makes sure that nobody reaches the waiter any more, and keeps it for another one.
func (s *session) delist(id string, w *waiter) {
	s.mu.Lock()
	delete(s.waiters, id)
	if q := w.queue; q != nil {
		last := len(q.waiters) - 1
		q.waiters[w.index] = q.waiters[last]
		q.waiters[w.index].index = w.index
		q.waiters[last] = nil
		if q.waiters = q.waiters[:last]; last == 0 {
			delete(s.queues, q.keys.lock)
		}
	}
	s.mu.Unlock()
	select {
	case <-w.grants:
	default:
	}
	select {
	case <-w.pokes:
	default:
	}
	select {
	case <-w.lost:
	default:
	}
	w.keys, w.queue, w.index, w.asks = lockKeys{}, nil, 0, time.Time{}
	waiterPool.Put(w)
}

// queued lets keepAlive care for a waiter that the server has in the queue. It returns when to ask again.
func (s *session) queued(w *waiter, a answer) time.Duration {
	after := pokeAfter(a.remaining)
	s.mu.Lock()
	defer s.mu.Unlock()
	w.asks = time.Now().Add(after)
	if w.queue == nil {
		q := s.queues[w.keys.lock]
		if q == nil {
			q = &queue{keys: w.keys}
			s.queues[w.keys.lock] = q
			pace.Wake(s.wakeKeepAlive)
		}
		w.queue, w.index = q, len(q.waiters)
		q.waiters = append(q.waiters, w)
	}
	if shown := a.clock.Local; shown.After(w.queue.shown) {
		w.queue.shown = shown
	}
	return after
}

// pokeAfter is when the lease in the way should be over; a little later, not at once for all processes that wait.
func pokeAfter(remaining time.Duration) time.Duration {
	return max(remaining, 0) + time.Millisecond + pace.Jitter(10*time.Millisecond)
}
