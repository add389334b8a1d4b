package zkstore

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/lockgen/lockgen/internal/pace"
	"github.com/lockgen/lockgen/internal/timeheap"
	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/internal/startstop"
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

	gate  *startstop.Gate
	ctx   context.Context // ends with Close: nobody waits for a lock any more
	life  context.Context // ends when nothing is held, after that
	die   context.CancelFunc
	links sync.WaitGroup

	disconnected chan struct{} // closed when all has ended
	wakeClean    chan struct{}

	mu           sync.Mutex // guards what follows
	done         bool       // no link is opened any more
	left         error      // that something stays there, and why
	linger       time.Time  // when it is done though something is held; zero: it is not closed, or somebody waits
	present      *link
	leases       map[string]*held // granted, and not seen to end; by lease ID, as what follows
	waiters      map[string]*waiter
	places       map[string]*place    // left in a queue for the next caller
	joining      map[string]int       // requests whose contender is not known yet, but may be there
	staying      map[string]string    // paths of contenders whose locks are to be kept, and may not be yet
	weight       int                  // what the names of all these may take, in bytes
	losing       map[string]time.Time // broken, and since when that is known
	releasing    int                  // releases under way
	busyJanitors int                  // chores under way
	leaving      int                  // deletions of contenders that were given up, and are not done yet
	drops        int                  // deletions of nodes that nobody joined, and are not done yet
	refused      int                  // of these: what the servers have refused
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
	g := startstop.New()
	life, die := context.WithCancel(context.Background())
	return &session{
		SessionConfig: cfg, cfg: checked, servers: servers, space: newSpace(checked.Prefix, cfg.Namespace),
		node: shown(cfg.Node, maxNode), gate: g, ctx: g.Context(), life: life, die: die,
		disconnected: make(chan struct{}), wakeClean: make(chan struct{}, 1), roomy: make(chan struct{}),
		leases: make(map[string]*held), waiters: make(map[string]*waiter), places: make(map[string]*place),
		joining: make(map[string]int), staying: make(map[string]string), losing: make(map[string]time.Time),
		ends:   timeheap.New(func(h *held) *int { return &h.heapIndex }),
		chores: timeheap.New(func(c *chore) *int { return &c.heapIndex }),
	}
}

const (
	maxNode   = 200
	maxReason = 2000
)

// isUsed reports whether the session of ZooKeeper is what a lock hangs on.
func (s *session) isUsed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.leases)+len(s.waiters)+len(s.places) > 0
}

// lingerTime is for how long a closed session that still holds something waits for its release.
const lingerTime = 2 * time.Second

// Close implements lockrt.Session. While something is held and released, the connection and what belongs to it stay.
// What nobody releases goes with the session of ZooKeeper, for whose end a second call waits.
func (s *session) Close(ctx context.Context) error {
	again := !s.gate.ClosedAt().IsZero()
	if err := s.gate.Close(ctx, s.end); err != nil || !again {
		return err
	}
	patience := time.NewTimer(max(time.Until(s.gate.ClosedAt().Add(callTime)), callTime/5))
	defer patience.Stop()
	select {
	case <-s.disconnected:
	case <-patience.C: // it goes on
	case <-ctx.Done():
		return ctx.Err()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return errors.Join(s.left, s.nodesLocked())
}

// end ends the session when nobody needs it any more. It does not wait for the release of locks that are held.
func (s *session) end() {
	s.gate.Empty()
	s.endDue()
	s.mu.Lock()
	s.linger = time.Now().Add(lingerTime)
	s.mu.Unlock()
	done := s.finish()
	pace.Wake(s.wakeClean)
	if done {
		s.disconnect()
	} else {
		go s.disconnect()
	}
}

// disconnect waits until the session is done, and closes its connection.
func (s *session) disconnect() {
	defer close(s.disconnected)
	s.gate.Stopped() // cleanUp goes when the session is done
	s.mu.Lock()
	l, held := s.present, len(s.leases)+len(s.staying) > 0
	s.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), callTime)
	defer cancel()
	switch {
	case l == nil:
	case held:
		l.abandon(ctx)
		s.leavePlaces("it holds locks that are not released, or that MinHold could not keep yet")
	case !l.close(ctx): // which deletes what has not been taken back
		s.leavePlaces("the servers did not answer")
	}
	s.die()
	s.links.Wait()
	s.calls.Close(time.Now().Add(callTime))
}

// leavePlaces remembers for Close that places in queues stay, and why.
func (s *session) leavePlaces(why string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if places := s.leaving + len(s.places); places > 0 {
		s.left = fmt.Errorf("a session of ZooKeeper is left to its timeout, with %d places in queues: %s", places, why)
	}
}

// nodesLocked says that nodes may stay which nobody joined, nil if there are none.
func (s *session) nodesLocked() error {
	if s.drops == 0 {
		return nil
	}
	return fmt.Errorf("up to %d empty nodes of locks may stay in %s of ZooKeeper: they were not deleted in time",
		s.drops, s.space.locks())
}

// finish reports whether the session is done: closed, and nothing is held or being released, or not for a while.
func (s *session) finish() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	idle := len(s.leases)+len(s.staying)+s.drops-s.refused == 0 // what is to be kept may be in a moment
	if !s.linger.IsZero() && s.releasing == 0 && (idle || !time.Now().Before(s.linger)) {
		s.done = true
	}
	return s.done
}
