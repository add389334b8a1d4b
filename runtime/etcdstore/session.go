package etcdstore

import (
	"context"
	"crypto/rand"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	etcd "go.etcd.io/etcd/client/v3"

	"github.com/lockgen/lockgen/internal/combine"
	"github.com/lockgen/lockgen/internal/timeheap"
	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/internal/startstop"
	"github.com/lockgen/lockgen/runtime/internal/waits"
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
	// telling has the losses that are told of: the locks go on behind them.
	telling workers.Pool
	takes   combine.Combiner[*change] // puts of contenders
	frees   combine.Combiner[*change] // deletions: in a full database they pass, and puts do not
	flow    flow                      // of all writes
	queues  *waits.Together[*queue]   // by the names of locks

	gate *startstop.Gate
	ctx  context.Context // ends with Close
	over chan struct{}   // closed when the session is closed and its leases of etcd have ended: nothing is worth waiting for
	end  sync.Once

	preparing chan struct{} // has an element while somebody makes a class or a generation; guards the next two
	refused   error         // by a full database, the last time
	refusedAt time.Time     // when that try began
	used      chan struct{} // closed by begun, when the session has a generation for the first time
	begun     sync.Once
	wakeClean chan struct{}

	term atomic.Uint64 // the latest that an answer had

	mu        sync.Mutex // guards what follows
	ground    ground
	ended     time.Time                // when a generation was ended last
	endsNow   bool                     // somebody ends one
	asking    int                      // requests under way that are built on one
	classes   map[time.Duration]*class // by their lengths: those for who comes next
	every     map[etcd.LeaseID]*class  // these, and those that are aged
	forgot    map[etcd.LeaseID]*class  // those that etcd has forgotten, until that is sure
	rehouses  bool                     // contenders are moved whose classes are aged
	rehoused  chan struct{}            // closed when some have been
	leases    map[string]*held         // granted, and not seen to end; by lease ID, as what follows
	presumed  map[string]*held         // lost, but the contender may be there
	waiters   map[string]*waiter
	places    map[string]*queued // left in a queue for the next caller
	names     names
	losing    map[string]time.Time  // broken, and since when that is known
	parts     int                   // how many operations go into one transaction
	releasing int                   // releases under way
	returning map[string]*returning // and of which leases, with those that go on in the background
	endings   []<-chan struct{}     // closed when etcd leases have ended, after the last release
	left      error                 // that leases of etcd stay, and why
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
	g := startstop.New()
	s := &session{
		SessionConfig: cfg, store: store, client: store.client, space: sp, id: strings.ToLower(rand.Text()),
		node: shown(cfg.Node, maxNode), gate: g, ctx: g.Context(), over: make(chan struct{}),
		preparing: make(chan struct{}, 1), used: make(chan struct{}), wakeClean: make(chan struct{}, 1),
		classes: make(map[time.Duration]*class), every: make(map[etcd.LeaseID]*class),
		forgot: make(map[etcd.LeaseID]*class), rehoused: make(chan struct{}),
		leases: make(map[string]*held), presumed: make(map[string]*held), waiters: make(map[string]*waiter), places: make(map[string]*queued),
		names: newNames(), losing: make(map[string]time.Time), returning: make(map[string]*returning), parts: mostParts,
		flow:   newFlow(),
		ends:   timeheap.New(func(h *held) *int { return &h.heapIndex }),
		chores: timeheap.New(func(c *chore) *int { return &c.heapIndex }),
	}
	s.combining(&s.takes)
	s.combining(&s.frees)
	s.askTogether()
	return s
}

const (
	maxNode   = 200
	maxReason = 2000
)

// Close implements lockrt.Session. At servers that are silent it takes little longer than callTime. What the releases since
// the first call have left to do is waited for.
func (s *session) Close(ctx context.Context) error {
	again := !s.gate.ClosedAt().IsZero()
	err := s.gate.Close(ctx, func() {
		s.endWaiters()
		s.gate.Stopped()
		end := s.gate.ClosedAt().Add(callTime)
		s.telling.Close(end) // with the etcd leases the locks go on
		s.cleanRest(end)
		s.calls.Close(atLeast(end, callTime/20))
	})
	if err != nil {
		return err
	}
	s.mu.Lock()
	endings := slices.Clone(s.endings)
	s.mu.Unlock()
	if again {
		for _, ended := range endings {
			select {
			case <-ended:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.left
}

// atLeast is a moment, or a later one if there is less time until then.
func atLeast(end time.Time, d time.Duration) time.Time {
	if soonest := time.Now().Add(d); soonest.After(end) {
		return soonest
	}
	return end
}
