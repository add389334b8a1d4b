package memstore

import (
	"container/list"

	lockrt "github.com/lockgen/lockgen/runtime"
)

// queue holds the waiters of a lock in order of arrival. Removing a waiter costs the same at every place. The zero
// value is empty.
type queue struct {
	order  list.List // of *waiter
	places map[string]*list.Element
}

// waiter is one blocked Acquire.
type waiter struct {
	session *session
	req     lockrt.Request
	granted chan lockrt.Grant // buffered: the one who grants does not wait
}

func (q *queue) len() int { return len(q.places) }

func (q *queue) push(w *waiter) {
	if q.places == nil {
		q.places = make(map[string]*list.Element)
	}
	q.places[w.req.ID] = q.order.PushBack(w)
}

// pop removes and returns the first waiter, nil if there is none.
func (q *queue) pop() *waiter {
	first := q.order.Front()
	if first == nil {
		return nil
	}
	w := first.Value.(*waiter)
	q.remove(w.req.ID)
	return w
}

// find returns the waiter with a lease id, nil if there is none.
func (q *queue) find(id string) *waiter {
	if at := q.places[id]; at != nil {
		return at.Value.(*waiter)
	}
	return nil
}

// remove reports whether somebody waited under the lease id.
func (q *queue) remove(id string) bool {
	at := q.places[id]
	if at == nil {
		return false
	}
	q.order.Remove(at)
	delete(q.places, id)
	return true
}

// first returns the first n, or all if there are fewer.
func (q *queue) first(n int) []*waiter {
	waiters := make([]*waiter, 0, min(n, q.len()))
	for at := q.order.Front(); at != nil && len(waiters) < n; at = at.Next() {
		waiters = append(waiters, at.Value.(*waiter))
	}
	return waiters
}
