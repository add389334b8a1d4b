package etcdstore

import (
	"context"
	"crypto/rand"
	"strings"
	"sync"
	"time"

	etcd "go.etcd.io/etcd/client/v3"

	"github.com/lockgen/lockgen/internal/combine"
	"github.com/lockgen/lockgen/internal/timeheap"
	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/internal/workers"
)

// session implements lockrt.Session and what it may implement besides. Two goroutines belong to it, and one for each
// class of leases: hear learns of broken leases, cleanUp ends what has run out and takes back what callers have given
// up, and the classes are kept alive.
type session struct {
	lockrt.SessionConfig
	store  *Store
	client *etcd.Client
	space  space
	id     string // names the process in etcd
	node   string // as the entries have it
	calls  workers.Pool
	takes  combine.Combiner[*change] // puts of contenders
	frees  combine.Combiner[*change] // deletions: in a full database they pass, and puts do not

	ctx     context.Context // ends with Close
	stop    context.CancelFunc
	ended   chan struct{} // closed when the goroutines are gone
	running sync.WaitGroup
	closing sync.Once

	preparing chan struct{} // has an element while somebody makes a class or a generation
	used      chan struct{} // closed by begun, when the session has a generation for the first time
	begun     sync.Once
	wakeClean chan struct{}

	mu        sync.Mutex // guards what follows
	closed    bool
	acquiring sync.WaitGroup // Add only while not closed; cleanUp waits for it before its last round
	ground    ground
	classes   map[time.Duration]*class // by their lengths
	leases    map[string]*held         // granted, and not seen to end; by lease ID, as what follows
	waiters   map[string]*waiter
	places    map[string]*queued // left in a queue for the next caller
	names     names
	losing    map[string]time.Time // broken, and since when that is known
	releasing int                  // releases under way
	ends      timeheap.Heap[*held]
	chores    timeheap.Heap[*chore]
	cleanAt   time.Time // when cleanUp looks again by itself
}

var (
	_ lockrt.Inspector  = (*session)(nil)
	_ lockrt.Pager      = (*session)(nil)
	_ lockrt.Breaker    = (*session)(nil)
	_ lockrt.Checker    = (*session)(nil)
	_ lockrt.Sharer     = (*session)(nil)
	_ lockrt.Downgrader = (*session)(nil)
)

// newSession makes a session whose goroutines do not run yet.
func newSession(store *Store, cfg lockrt.SessionConfig, sp space) *session {
	ctx, stop := context.WithCancel(context.Background())
	s := &session{
		SessionConfig: cfg, store: store, client: store.client, space: sp, id: strings.ToLower(rand.Text()),
		node: shown(cfg.Node, maxNode), ctx: ctx, stop: stop, ended: make(chan struct{}),
		preparing: make(chan struct{}, 1), used: make(chan struct{}), wakeClean: make(chan struct{}, 1),
		classes: make(map[time.Duration]*class), leases: make(map[string]*held), waiters: make(map[string]*waiter),
		places: make(map[string]*queued), names: newNames(), losing: make(map[string]time.Time),
		ends:   timeheap.New(func(h *held) *int { return &h.heapPlace }),
		chores: timeheap.New(func(c *chore) *int { return &c.heapPlace }),
	}
	s.combining(&s.takes)
	s.combining(&s.frees)
	return s
}

const (
	maxNode   = 200
	maxReason = 2000
)

// enter counts an Acquire, unless the session is closed.
func (s *session) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.acquiring.Add(1)
	}
	return !s.closed
}

// Close implements lockrt.Session.
func (s *session) Close(ctx context.Context) error {
	s.closing.Do(func() {
		s.mu.Lock()
		s.closed = true
		s.mu.Unlock()
		s.stop()
		go func() {
			s.running.Wait()
			s.calls.Close(time.Now().Add(callTime))
			close(s.ended)
		}()
	})
	select {
	case <-s.ended:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
