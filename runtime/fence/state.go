package fence

import (
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

var (
	_ State = (*Memory)(nil)
	_ State = Redis{}
)

// Memory is a State of this process alone: behind a load balancer every process would know other fences, so use one
// in SQL or Redis there. The zero value is ready for use and keeps everything for ever.
type Memory struct {
	// Keep is how long a resource is remembered after its last accepted request. A fence that comes later is accepted
	// however old it is. 0 keeps it for ever, and with it the memory it takes. Not to be changed after the first use.
	Keep time.Duration

	mu    sync.Mutex // guards what follows
	marks map[string]memoryMark
	sweep int // size of marks at which to look for old ones again
}

type memoryMark struct {
	fence lockrt.Fence
	seen  time.Time
}

// minSweep is the number of resources below which old ones are not worth looking for.
const minSweep = 1024

// Check implements State. It does not block.
func (m *Memory) Check(_ context.Context, resource string, f lockrt.Fence) error {
	if err := check(resource, f); err != nil {
		return fmt.Errorf("check fence: %w", err)
	}
	now := time.Now()
	m.mu.Lock()
	defer m.mu.Unlock()
	mark, ok := m.marks[resource]
	if ok && m.Keep > 0 && now.Sub(mark.seen) > m.Keep {
		mark = memoryMark{} // as if swept already
	}
	if f < mark.fence {
		return &StaleError{Resource: resource, Given: f, Highest: mark.fence}
	}
	if m.marks == nil {
		m.marks = make(map[string]memoryMark)
	}
	m.marks[resource] = memoryMark{fence: f, seen: now}
	m.forgetOld(now)
	return nil
}

// forgetOld goes through all marks each time their number has doubled, so that its cost per mark does not grow.
func (m *Memory) forgetOld(now time.Time) {
	if m.Keep == 0 || len(m.marks) < max(m.sweep, minSweep) {
		return
	}
	for resource, mark := range m.marks {
		if now.Sub(mark.seen) > m.Keep {
			delete(m.marks, resource)
		}
	}
	m.sweep = 2 * len(m.marks)
}
