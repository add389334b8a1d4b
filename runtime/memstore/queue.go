package memstore

import (
	"container/list"

	lockrt "github.com/lockgen/lockgen/runtime"
)

// queue holds the waiters of a lock in order of arrival. Removing a waiter costs the same at every place. The zero
// value is empty.
type queue struct {
	order *list.List // of *waiter; nil, as byID, until somebody waits
	byID  map[string]*list.Element
}

// waiter is one blocked Acquire.
type waiter struct {
	session *session
	req     lockrt.Request
	granted chan lockrt.Grant // buffered: the one who grants does not wait
}

func (q *queue) len() int { return len(q.byID) }

func (q *queue) push(w *waiter) {
	if q.byID == nil {
		q.order, q.byID = list.New(), make(map[string]*list.Element)
	}
	q.byID[w.req.ID] = q.order.PushBack(w)
}

// front returns the first waiter, nil if there is none.
func (q *queue) front() *waiter {
	if q.len() == 0 {
		return nil
	}
	return q.order.Front().Value.(*waiter)
}

// find returns the waiter with a lease id, nil if there is none.
func (q *queue) find(id string) *waiter {
	if at := q.byID[id]; at != nil {
		return at.Value.(*waiter)
	}
	return nil
}

// remove reports whether somebody waited under the lease id.
func (q *queue) remove(id string) bool {
	at := q.byID[id]
	if at == nil {
		return false
	}
	q.order.Remove(at)
	delete(q.byID, id)
	return true
}

// first returns the first n, or all if there are fewer.
func (q *queue) first(n int) []*waiter {
	if q.len() == 0 {
		return nil
	}
	waiters := make([]*waiter, 0, min(n, q.len()))
	for at := q.order.Front(); at != nil && len(waiters) < n; at = at.Next() {
		waiters = append(waiters, at.Value.(*waiter))
	}
	return waiters
}
