package jobs

import (
	"container/heap"
	"time"

	"github.com/robfig/cron/v3"
)

// entry is a job in a scheduler. What is below the line belongs to the loop; other goroutines read mark and wake under
// Scheduler.mu, under which the loop writes them.
type entry struct {
	job      Job
	schedule cron.Schedule
	zone     *time.Location

	mark  time.Time // as last heard of from the store
	wake  time.Time // when to look at the schedule again; zero: never
	check time.Time // when to look at the claims of other nodes again
	index int       // in the heap, -1 outside
}

// entryHeap is a heap by wake.
type entryHeap []*entry

func (h entryHeap) Len() int           { return len(h) }
func (h entryHeap) Less(i, j int) bool { return h[i].wake.Before(h[j].wake) }
func (h entryHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

// Push implements heap.Interface.
func (h *entryHeap) Push(x any) {
	e := x.(*entry)
	e.index = len(*h)
	*h = append(*h, e)
}

// Pop implements heap.Interface.
func (h *entryHeap) Pop() any {
	old := *h
	e := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	e.index = -1
	return e
}

// takeDue removes up to n entries whose time has come.
func (h *entryHeap) takeDue(now time.Time, n int) []*entry {
	var due []*entry
	for len(*h) > 0 && len(due) < n && !(*h)[0].wake.After(now) {
		due = append(due, heap.Pop(h).(*entry))
	}
	return due
}
