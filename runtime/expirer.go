package lockrt

import (
	"sync"
	"time"

	"github.com/lockgen/lockgen/internal/timeheap"
)

// expirer ends the grants of a Locker at their deadlines. One timer serves them all, because a timer for each would
// make the Go scheduler wake a sleeping thread at nearly every acquire: its deadline is mostly the next that is due.
//
// Renewals move a grant's deadline without telling the expirer; it finds out when the old one comes, and waits for the
// new one. Nothing here waits for anything else, so no call in flight can delay the end of a lease.
type expirer struct {
	mu    sync.Mutex            // guards everything here
	heap  timeheap.Heap[*grant] // by their deadlines, as last heard of
	timer *time.Timer
	at    time.Time // when the timer fires; zero: not set
}

func newExpirer() *expirer {
	return &expirer{heap: timeheap.New(func(g *grant) *int { return &g.expiryIndex })}
}

func (x *expirer) add(g *grant, deadline time.Time) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if g.ended() != nil {
		return
	}
	x.heap.Set(g, deadline)
	x.arm()
}

// watch lets the Locker forget, at a time, a grant that has ended.
func (x *expirer) watch(g *grant, at time.Time) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if g.gone.Load() {
		return
	}
	x.heap.Set(g, at)
	x.arm()
}

func (x *expirer) remove(g *grant) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.heap.Remove(g)
}

// arm sets the timer for the first deadline, unless it fires before that anyway: a timer that comes too early costs
// less than one that is moved with every release.
func (x *expirer) arm() {
	if x.heap.Len() == 0 {
		return
	}
	_, first := x.heap.First()
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
	var over []*Lease
	due := x.due(time.Now())
	if len(due) == 0 {
		return
	}
	defer due[0].locker.tells.begin()()
	for _, g := range due {
		if leases, ended := g.endTurn(nil, &lostError{key: g.key, reason: errDeadline}); ended {
			lost, over = append(lost, g), append(over, leases...)
			g.locker.noteLost(g, errDeadline)
		} else if end := g.storeEnd(); time.Now().Before(end) {
			x.watch(g, end) // its release has begun in this moment
		} else {
			g.locker.forget(g)
		}
	}
	if len(lost) > 0 {
		lost[0].locker.telemetry.ended(over)
	}
	for _, g := range lost {
		g.locker.reportLost(g, g.leases(), errDeadline)
	}
}

func (x *expirer) due(now time.Time) (due []*grant) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.at = time.Time{}
	for g, ok := x.heap.TakeDue(now); ok; g, ok = x.heap.TakeDue(now) {
		if _, deadline := g.state(); deadline.After(now) {
			x.heap.Set(g, deadline)
		} else {
			due = append(due, g)
		}
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
