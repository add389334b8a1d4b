package redisstore

import (
	"context"
	"errors"
	"fmt"
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
		s.abandon(req, keys, false, err) // the script may have run
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

// answer is what acquire.lua said.
type answer struct {
	granted   bool
	epoch     uint64
	since     int64 // µs of the server's clock
	remaining time.Duration
	holder    string
	clock     clockPair
}

// clockPair ties the two clocks: the local moment is not after the moment at which the server's clock showed micros,
// because it was read before the request was sent.
type clockPair struct {
	local  time.Time
	micros int64
}

// at returns a local moment that is not after the one at which the server's clock showed micros.
func (c clockPair) at(micros int64) time.Time {
	return c.local.Add(time.Duration(micros-c.micros) * time.Microsecond)
}

func (a answer) grant() lockrt.Grant { return lockrt.Grant{Epoch: a.epoch, Start: a.clock.at(a.since)} }

func (a answer) busy(key string) *lockrt.BusyError {
	return &lockrt.BusyError{Key: key, Holder: a.holder, Remaining: a.remaining}
}

// ask runs acquire.lua once.
func (s *session) ask(ctx context.Context, keys lockKeys, req lockrt.Request) (answer, error) {
	liveness := int64(0)
	if req.Wait > 0 {
		liveness = s.liveness.Milliseconds()
	}
	sent, ttl := time.Now(), millis(req.TTL)
	reply, err := acquireScript.run(ctx, s.client, keys.all(), req.ID, ttl, s.waiterID, liveness, ttl+s.retention.Milliseconds()).Result()
	if err != nil {
		return answer{}, err
	}
	return parseAnswer(reply, sent)
}

func parseAnswer(reply any, sent time.Time) (answer, error) {
	if epoch, ok := reply.(int64); ok {
		return answer{granted: true, epoch: uint64(epoch), since: epoch, clock: clockPair{sent, epoch}}, nil
	}
	if values, ok := reply.([]any); ok && len(values) == 4 {
		first, _ := values[0].(int64)
		second, ok2 := values[1].(int64)
		third, ok3 := values[2].(int64)
		if holder, ok := values[3].(string); ok && ok2 && ok3 && first == 0 {
			return answer{remaining: time.Duration(second) * time.Millisecond, holder: holder, clock: clockPair{sent, third}}, nil
		}
		if now, ok := values[3].(int64); ok && ok2 && ok3 && first == 1 {
			return answer{granted: true, epoch: uint64(second), since: third, clock: clockPair{sent, now}}, nil
		}
	}
	return answer{}, fmt.Errorf("the lock script acquire answered %v; is another program writing to the lock's keys?", reply)
}

// millis rounds up: a lease is never shorter on the server than its holder believes.
func millis(d time.Duration) int64 { return (d + time.Millisecond - 1).Milliseconds() }

// withContext adds ctx's error to that of a call which ctx ended: the client reports some of them as time-outs of its
// connection.
func withContext(ctx context.Context, err error) error {
	if cause := ctx.Err(); cause != nil && !errors.Is(err, cause) {
		return errors.Join(cause, err)
	}
	return err
}

// Release implements lockrt.Session. It repeats the call itself instead of leaving that to the client, because it has
// to know: "not the owner" after a call without an answer means that that call succeeded.
func (s *session) Release(ctx context.Context, rel lockrt.Release) error {
	keys := s.space.keys(rel.Key).all()
	unanswered := false
	for backoff := 5 * time.Millisecond; ; backoff = min(2*backoff, 500*time.Millisecond) {
		released, err := releaseScript.runOnce(ctx, s.client, keys, rel.ID, millis(rel.Keep), s.retention.Milliseconds()).Int()
		switch {
		case err == nil && (released == 1 || unanswered):
			return nil
		case err == nil:
			return lockrt.ErrLost
		case !retryable(err):
			return err
		}
		unanswered = true
		if !sleep(ctx, jitter(backoff)) {
			return withContext(ctx, err)
		}
	}
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
