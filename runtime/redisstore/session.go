package redisstore

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	lockrt "github.com/lockgen/lockgen/runtime"
)

// session implements lockrt.Session, lockrt.Inspector and lockrt.Breaker. Three goroutines belong to it: listen
// receives pushes, keepAlive shows that the process still waits, cleanUp takes back what callers have given up.
type session struct {
	lockrt.SessionConfig
	client    redis.UniversalClient
	clustered bool
	acquires  combiner
	releases  combiner
	space     keySpace
	channel   string // where pushes for this session arrive
	waiterID  string // channel and node, as the scripts keep them
	retention time.Duration
	liveness  time.Duration

	ctx     context.Context // ends with Close
	stop    context.CancelFunc
	ended   chan struct{} // closed when the goroutines are gone
	running sync.WaitGroup
	closing sync.Once

	mu        sync.Mutex // guards what follows
	closed    bool
	acquiring sync.WaitGroup // Add only while not closed; cleanUp waits for it before its last round
	waiters   map[string]*waiter
	abandoned map[string]abandoned // leases to cancel, by id

	wakeKeeper  chan struct{}
	wakeJanitor chan struct{}
}

var (
	_ lockrt.Inspector = (*session)(nil)
	_ lockrt.Pager     = (*session)(nil)
	_ lockrt.Breaker   = (*session)(nil)
)

// Acquire implements lockrt.Session.
func (s *session) Acquire(ctx context.Context, req lockrt.Request) (lockrt.Grant, error) {
	if !s.enter() {
		return lockrt.Grant{}, lockrt.ErrClosed
	}
	defer s.acquiring.Done()
	if req.Wait > 0 {
		return s.wait(ctx, req)
	}
	keys := s.space.keys(req.Key)
	a, err := s.ask(ctx, keys, req)
	switch {
	case err != nil:
		s.abandon(req, keys, err) // the script may have run
		return lockrt.Grant{}, withContext(ctx, err)
	case !a.granted:
		return lockrt.Grant{}, a.busy(req.Key)
	}
	return a.grant(), nil
}

// enter counts an Acquire, unless the session is closed.
func (s *session) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.acquiring.Add(1)
	}
	return !s.closed
}

// withContext adds ctx's error to that of a call which ctx ended: the client reports some of them as time-outs of its
// connection.
func withContext(ctx context.Context, err error) error {
	if cause := ctx.Err(); cause != nil && !errors.Is(err, cause) {
		return errors.Join(cause, err)
	}
	return err
}

// Release implements lockrt.Session. It repeats the call itself instead of leaving that to the client, because it has
// to know: "not the owner" after a call that may have run unanswered means that that call succeeded.
func (s *session) Release(ctx context.Context, rel lockrt.Release) error {
	keys := s.space.keys(rel.Key)
	unanswered := false
	for backoff := 5 * time.Millisecond; ; backoff = min(2*backoff, 500*time.Millisecond) {
		released, unsure, err := s.release(ctx, keys, rel)
		unanswered = unanswered || unsure
		switch {
		case err == nil && (released || unanswered):
			return nil
		case err == nil:
			return lockrt.ErrLost
		case !retryable(err):
			return err
		}
		unanswered = unanswered || mayHaveRun(err)
		if !sleep(ctx, jitter(backoff)) {
			return withContext(ctx, err)
		}
	}
}

// release asks once. unsure is whether the lease may have been released by a call that failed.
func (s *session) release(ctx context.Context, keys lockKeys, rel lockrt.Release) (released, unsure bool, err error) {
	if rel.Keep > 0 {
		n, err := retainScript.run(ctx, s.client, keys.all(), rel.ID, millis(rel.Keep), s.retention.Milliseconds()).Int()
		return n == 1, false, err
	}
	e := &entry{keys: keys, id: rel.ID}
	if err := s.releases.do(ctx, e); err != nil {
		return false, false, err
	}
	return e.answer == int64(1), e.unsure, nil
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

// sleep reports whether d passed before ctx ended.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// jitter returns between half of d and d.
func jitter(d time.Duration) time.Duration { return d/2 + rand.N(d/2+1) }
