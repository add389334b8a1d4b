package jobs

import (
	"container/heap"
	"context"
	"hash/fnv"
	"time"

	"github.com/robfig/cron/v3"

	lockrt "github.com/lockgen/lockgen/runtime"
)

// entry is a job in a scheduler. What is below the line belongs to the loop; other goroutines read mark and wake under
// Scheduler.mu, under which the loop writes them.
type entry struct {
	job      Job
	schedule cron.Schedule // nil for a handler
	handler  func(ctx context.Context, id string, payload []byte) error
	zone     *time.Location
	lock     lockrt.Options // Job.Lock, as the locks are asked for it
	hash     uint64         // of the name

	mark   time.Time // as last heard of from the store
	wake   time.Time // when to look at the schedule again; zero: never
	plan   plan      // what is to be done then; of no worth when the mark has moved or the time is past
	paused bool      // as last heard of from the store
	busy   bool      // what is to be done next has to wait for the end of a run
	unsure *Claim    // of which the answer was lost: resolve it before anything else
	index  int       // in the heap, -1 outside
}

// keys are the locks of a run.
func (e *entry) keys(r Run) []string {
	if e.handler != nil {
		return []string{handlerPrefix + r.Once}
	}
	return e.job.Keys
}

// work is what to call for a run.
func (e *entry) work(r Run) func(context.Context) error {
	if e.handler == nil {
		return e.job.Run
	}
	return func(ctx context.Context) error { return e.handler(ctx, r.Once, r.Payload) }
}

func hashOf(text string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(text))
	return mix(h.Sum64())
}

// mix spreads what FNV leaves in the low bits of the last bytes.
func mix(x uint64) uint64 {
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	return x ^ x>>33
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

// takeDue removes all entries whose time has come.
func (h *entryHeap) takeDue(now time.Time) []*entry {
	var due []*entry
	for len(*h) > 0 && !(*h)[0].wake.After(now) {
		due = append(due, heap.Pop(h).(*entry))
	}
	return due
}
