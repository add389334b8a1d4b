package zkstore

import (
	"context"
	"sync"
	"time"

	"github.com/lockgen/lockgen/internal/pace"
	"github.com/lockgen/lockgen/internal/timeheap"
	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/internal/workers"
)

// session implements lockrt.Session and what it may implement besides. One goroutine belongs to it from its beginning:
// cleanUp ends what has run out, and takes back what callers have given up. Each link has three more while it lives.
type session struct {
	lockrt.SessionConfig
	cfg     Config
	servers []string
	space   space
	node    string // as the entries have it
	calls   workers.Pool

	ctx     context.Context // ends with Close: nobody waits for a lock any more
	stop    context.CancelFunc
	life    context.Context // ends when nothing is held, after that
	die     context.CancelFunc
	ended   chan struct{} // closed when the goroutines are gone
	lingers chan struct{} // closed when Close leaves locks that are held
	running sync.WaitGroup
	links   sync.WaitGroup
	closing sync.Once

	wakeClean chan struct{}

	mu           sync.Mutex // guards what follows
	closed       bool
	done         bool           // no link is opened any more
	linger       time.Time      // when it is done though something is held; zero: it is not closed, or somebody waits
	acquiring    sync.WaitGroup // Add only while not closed
	present      *link
	leases       map[string]*held // granted, and not seen to end; by lease ID, as what follows
	waiters      map[string]*waiter
	places       map[string]*place    // left in a queue for the next caller
	losing       map[string]time.Time // broken, and since when that is known
	releasing    int                  // releases under way
	busyJanitors int                  // chores under way
	leaving      int                  // contenders that were given up and are not deleted yet
	crowded      bool                 // they were too many, and are not few again
	roomy        chan struct{}        // closed when they are
	ends         timeheap.Heap[*held]
	chores       timeheap.Heap[*chore]
}

var (
	_ lockrt.Inspector = (*session)(nil)
	_ lockrt.Pager     = (*session)(nil)
	_ lockrt.Breaker   = (*session)(nil)
	_ lockrt.Checker   = (*session)(nil)
)

// newSession makes a session whose goroutine does not run yet.
func newSession(servers []string, checked Config, cfg lockrt.SessionConfig) *session {
	ctx, stop := context.WithCancel(context.Background())
	life, die := context.WithCancel(context.Background())
	return &session{
		SessionConfig: cfg, cfg: checked, servers: servers, space: newSpace(checked.Prefix, cfg.Namespace),
		node: shown(cfg.Node, maxNode), ctx: ctx, stop: stop, life: life, die: die, ended: make(chan struct{}),
		lingers: make(chan struct{}), wakeClean: make(chan struct{}, 1), roomy: make(chan struct{}),
		leases: make(map[string]*held), waiters: make(map[string]*waiter), places: make(map[string]*place),
		losing: make(map[string]time.Time),
		ends:   timeheap.New(func(h *held) *int { return &h.heapPlace }),
		chores: timeheap.New(func(c *chore) *int { return &c.heapPlace }),
	}
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

// isUsed reports whether the session of ZooKeeper is what a lock hangs on.
func (s *session) isUsed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.leases)+len(s.waiters)+len(s.places) > 0
}

// lingerTime is for how long a closed session that still holds something waits for its release.
const lingerTime = 2 * time.Second

// Close implements lockrt.Session. While something is held and released, the connection and what belongs to it stay.
// What nobody releases goes with the session of ZooKeeper.
func (s *session) Close(ctx context.Context) error {
	s.closing.Do(func() {
		s.mu.Lock()
		s.closed = true
		s.mu.Unlock()
		s.stop()
		go s.wind()
	})
	select {
	case <-s.ended:
		return nil
	case <-s.lingers:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// wind ends the session when nobody needs it any more.
func (s *session) wind() {
	s.acquiring.Wait()
	s.mu.Lock()
	s.linger = time.Now().Add(lingerTime)
	s.mu.Unlock()
	if !s.finish() {
		close(s.lingers)
	}
	pace.Wake(s.wakeClean)
	s.running.Wait() // cleanUp goes when the session is done
	s.mu.Lock()
	l, held := s.present, len(s.leases) > 0
	s.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), callTime)
	defer cancel()
	switch {
	case l == nil:
	case held:
		l.abandon(ctx)
	default:
		l.close(ctx) // deletes what has not been taken back
	}
	s.die()
	s.links.Wait()
	s.calls.Close(time.Now().Add(callTime))
	close(s.ended)
}

// finish reports whether the session is done: closed, and nothing is held or being released, or not for a while.
func (s *session) finish() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.linger.IsZero() && s.releasing == 0 && (len(s.leases) == 0 || !time.Now().Before(s.linger)) {
		s.done = true
	}
	return s.done
}
