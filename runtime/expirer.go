package runtime

import (
	"container/heap"
	"sync"
	"time"
)

// expirer ends the grants of a Locker at their deadlines. One timer serves them all, because a timer for each would make
// the Go scheduler wake a sleeping thread at nearly every acquire: its deadline is mostly the next that is due.
//
// Renewals move a grant's deadline without telling the expirer; it finds out when the old one comes, and waits for the
// new one. Nothing here waits for anything else, so no call in flight can delay the end of a lease.
type expirer struct {
	mu    sync.Mutex // guards everything here and in grant.expiry
	heap  expiryHeap
	timer *time.Timer
	at    time.Time // when the timer fires; zero: not set
}

// expiry is a grant's place in its expirer.
type expiry struct {
	at    time.Time
	index int // -1 outside
}

func (x *expirer) add(g *grant, deadline time.Time) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if g.ended() != nil {
		return
	}
	g.expiry.at = deadline
	heap.Push(&x.heap, g)
	x.arm()
}

func (x *expirer) remove(g *grant) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if g.expiry.index >= 0 {
		heap.Remove(&x.heap, g.expiry.index)
	}
}

// arm sets the timer for the first deadline, unless it fires before that anyway: a timer that comes too early costs less
// than one that is moved with every release.
func (x *expirer) arm() {
	if len(x.heap) == 0 {
		return
	}
	first := x.heap[0].expiry.at
	switch {
	case x.timer == nil:
		x.timer = time.AfterFunc(time.Until(first), x.fire)
	case x.at.IsZero() || first.Before(x.at):
		x.timer.Reset(time.Until(first))
	default:
		return
	}
	x.at = first
}

// fire ends what is due. First all contexts are cancelled, then the losses are told.
func (x *expirer) fire() {
	var lost []*grant
	for _, g := range x.due(time.Now()) {
		if g.end(nil, &lostError{key: g.key, reason: errDeadline}) {
			lost = append(lost, g)
		}
	}
	for _, g := range lost {
		g.locker.leaseLost(g, errDeadline)
	}
}

func (x *expirer) due(now time.Time) (due []*grant) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.at = time.Time{}
	for len(x.heap) > 0 && !x.heap[0].expiry.at.After(now) {
		g := x.heap[0]
		if _, deadline := g.state(); deadline.After(now) {
			g.expiry.at = deadline
			heap.Fix(&x.heap, 0)
			continue
		}
		heap.Pop(&x.heap)
		due = append(due, g)
	}
	x.arm()
	return due
}

// stop ends the timer. Grants that are left are the caller's.
func (x *expirer) stop() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.timer != nil {
		x.timer.Stop()
	}
}

// expiryHeap is a heap by expiry.at that tells each grant its position.
type expiryHeap []*grant

func (h expiryHeap) Len() int           { return len(h) }
func (h expiryHeap) Less(i, j int) bool { return h[i].expiry.at.Before(h[j].expiry.at) }
func (h expiryHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].expiry.index, h[j].expiry.index = i, j
}

// Push implements heap.Interface.
func (h *expiryHeap) Push(x any) {
	g := x.(*grant)
	g.expiry.index = len(*h)
	*h = append(*h, g)
}

// Pop implements heap.Interface.
func (h *expiryHeap) Pop() any {
	old := *h
	g := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	g.expiry.index = -1
	return g
}
