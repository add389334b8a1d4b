package redisstore

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/internal/janitor"
)

// session implements lockrt.Session and what it may implement besides. Four goroutines belong to it: listen receives
// pushes, keepAlive shows that the process still waits, cleanUp takes back what callers have given up, and recheck asks
// about held leases after the session was cut off. Its calls to the server run on more: see calls.
type session struct {
	lockrt.SessionConfig
	client    redis.UniversalClient
	clustered bool
	retries   int // how often the client repeats a call
	calls     *calls
	quick     *quick
	stripes   []*stripe
	space     keySpace
	mixed     mixedLocks
	channel   string // the pub/sub channel of this session
	waiterID  string // channel and node, in the form that the scripts store
	retention time.Duration
	liveness  time.Duration

	replicas       int
	replicaTimeout time.Duration
	leftovers      *janitor.Janitor[lockKeys] // leases to give back

	ctx     context.Context // ends with Close
	stop    context.CancelFunc
	ended   chan struct{} // closed when the goroutines are gone
	running sync.WaitGroup
	closing sync.Once
	closeBy time.Time // when Close gives up; set before ctx ends

	mu        sync.Mutex            // guards what follows
	own       redis.UniversalClient // see ownClient; nil if there is none, or it is closed
	closed    bool
	acquiring sync.WaitGroup // Add only while not closed; cleanUp waits for it before its last round
	waiters   map[string]*waiter
	queues    map[string]*queue // the queues with waiters, by their locks' keys

	resubscribed atomic.Int64 // how often the session has subscribed again

	wakeKeeper  chan struct{}
	subscribed  chan struct{} // wakes the keeper at once
	wakeRecheck chan struct{}
}

var (
	_ lockrt.Inspector = (*session)(nil)
	_ lockrt.Pager     = (*session)(nil)
	_ lockrt.Breaker   = (*session)(nil)
	_ lockrt.Checker   = (*session)(nil)

	_ lockrt.Sharer     = (*session)(nil)
	_ lockrt.Downgrader = (*session)(nil)
)

// Acquire implements lockrt.Session.
func (s *session) Acquire(ctx context.Context, req lockrt.Request) (lockrt.Grant, error) {
	if !s.enter() {
		return lockrt.Grant{}, lockrt.ErrClosed
	}
	defer s.acquiring.Done()
	grant, err := s.acquire(ctx, req)
	if err != nil || s.replicas == 0 {
		return grant, err
	}
	return s.replicated(ctx, req, grant)
}

func (s *session) acquire(ctx context.Context, req lockrt.Request) (lockrt.Grant, error) {
	if req.Wait > 0 {
		return s.wait(ctx, req)
	}
	keys := s.space.keys(req.Key).of(req.Mode, req.Permits)
	a, err := s.ask(ctx, keys, req, callTime)
	switch {
	case err == nil && a.broken:
		err = errBrokenUnknown
	case err == nil && !a.granted:
		s.leftovers.Unwanted(req.ID) // an attempt that had no answer may still take the lock
		return lockrt.Grant{}, a.busy(req.Key)
	}
	if err != nil {
		s.leftovers.Abandon(req.ID, keys, req.TTL) // the script may have run all the same
		return lockrt.Grant{}, err
	}
	return a.grant(req), nil
}

var errBrokenUnknown = fmt.Errorf("%w: it was broken before its grant was known", lockrt.ErrLost)

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
		s.closeBy = time.Now().Add(closeTime)
		s.stop()
		go func() {
			s.running.Wait()
			s.closeOwn() // calls on it end with it
			s.calls.Close(s.closeBy)
			close(s.ended)
		}()
	})
	select {
	case <-s.ended:
	case <-ctx.Done():
		return ctx.Err()
	}
	if n := s.leftovers.Left(); n > 0 {
		return fmt.Errorf("up to %d locks that nobody wants are left to their TTL: %w", n, errNoAnswer)
	}
	return nil
}
