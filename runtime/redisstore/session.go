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
	"github.com/lockgen/lockgen/runtime/internal/startstop"
	"github.com/lockgen/lockgen/runtime/internal/waits"
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

	gate *startstop.Gate
	ctx  context.Context // ends with Close

	mu      sync.Mutex            // guards what follows
	own     redis.UniversalClient // see ownClient; nil if there is none, or it is closed
	waiters map[string]*waiter
	queues  map[string]*queue // the queues with waiters, by their locks' keys

	resubscribed atomic.Int64 // how often the session has subscribed again

	wakeKeepAlive chan struct{}
	subscribed    chan struct{} // wakes keepAlive at once
	wakeRecheck   chan struct{}
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
	if !s.gate.Enter() {
		return lockrt.Grant{}, lockrt.ErrClosed
	}
	defer s.gate.Leave()
	s.leftovers.Take(req.ID)
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
		err = waits.ErrBroken
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

// Close implements lockrt.Session.
func (s *session) Close(ctx context.Context) error {
	err := s.gate.Close(ctx, func() {
		s.gate.Stopped()
		s.cancelRest() // what was lost when cleanUp had ended
		s.closeOwn()   // calls on it end with it
		s.calls.Close(s.closeBy())
	})
	if n := s.leftovers.Left(); err == nil && n > 0 {
		err = fmt.Errorf("up to %d locks that nobody wants are left to their TTL: %w", n, errNoAnswer)
	}
	return err
}

// closeBy is when Close gives up, once it has begun.
func (s *session) closeBy() time.Time { return s.gate.ClosedAt().Add(closeTime) }
