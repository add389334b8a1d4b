package fence

import (
	"container/list"
	"context"
	"fmt"
	"sync"
	"time"

	lockrt "github.com/lockgen/lockgen/runtime"
)

// State keeps the highest fence of each resource, for [Middleware].
type State interface {
	// Check records f for resource, unless a higher fence was recorded: then it fails with an error that wraps
	// ErrStale. It does both in one step, also among several processes if the State belongs to several, and blocks
	// until that is done or ctx ends.
	Check(ctx context.Context, resource string, f lockrt.Fence) error
}

var _ State = (*Memory)(nil)

// DefaultMax is how many resources a [Memory] remembers if its Max is 0: about 20 MB with names of 60 bytes.
const DefaultMax = 100_000

// Memory is a State of this process alone. Behind a load balancer every process would know different fences, so use a
// State in SQL or Redis there. The zero value is ready for use.
type Memory struct {
	// Keep is how long a resource is remembered after its last accepted request. A fence that comes later is accepted
	// however old it is. 0 keeps it until Max resources came after it. Not to be changed after the first use.
	Keep time.Duration
	// Max is how many resources are remembered. When there are more, the one whose last accepted request is the oldest
	// is forgotten, as by Keep. So requests for many paths cannot fill the memory. Defaults to [DefaultMax]; negative
	// means no bound. Not to be changed after the first use.
	Max int

	mu    sync.Mutex // guards what follows
	marks map[string]*list.Element
	byAge list.List // of *memoryMark, that of the last accepted request first
}

type memoryMark struct {
	resource string
	fence    lockrt.Fence
	seen     time.Time
}

// Check implements State. It does not block.
func (m *Memory) Check(_ context.Context, resource string, f lockrt.Fence) error {
	if err := check(resource, f); err != nil {
		return fmt.Errorf("check fence: %w", err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	m.forgetOld(now)
	e, ok := m.marks[resource]
	if !ok {
		if m.marks == nil {
			m.marks = make(map[string]*list.Element)
		}
		m.marks[resource] = m.byAge.PushFront(&memoryMark{resource: resource, fence: f, seen: now})
		m.forgetOld(now)
		return nil
	}
	mark := e.Value.(*memoryMark)
	if f < mark.fence {
		return &StaleError{Resource: resource, Given: f, Highest: mark.fence}
	}
	mark.fence, mark.seen = f, now
	m.byAge.MoveToFront(e)
	return nil
}

// Reset forgets the high-water mark of a resource, so that the next fence is accepted whatever it is. It is for an
// operator who has found a high-water mark that no lease raised: until the next holder has written, a stale writer is
// not refused.
func (m *Memory) Reset(resource string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if e, ok := m.marks[resource]; ok {
		m.forget(e)
	}
}

// forgetOld forgets what is older than Keep and more than Max.
func (m *Memory) forgetOld(now time.Time) {
	most := m.Max
	if most == 0 {
		most = DefaultMax
	}
	for e := m.byAge.Back(); e != nil; e = m.byAge.Back() {
		tooOld := m.Keep > 0 && now.Sub(e.Value.(*memoryMark).seen) > m.Keep
		tooMany := most > 0 && len(m.marks) > most
		if !tooOld && !tooMany {
			return
		}
		m.forget(e)
	}
}

func (m *Memory) forget(e *list.Element) {
	delete(m.marks, m.byAge.Remove(e).(*memoryMark).resource)
}
