// Package storetest is the conformance suite of lock stores: it turns the contract in the comments of lockrt.Store and
// lockrt.Session into tests. Every store runs it, third-party ones too:
//
//	func TestStore_conformance(t *testing.T) {
//		storetest.Run(t, func(t *testing.T) lockrt.Store { return mystore.New(…) })
//	}
//
// For a store that several processes can use, [Processes] says where it is, so that the suite can kill some of them.
// For an engine that is slow to notice a death, [Coarse] says how slow. For a further driver of a store there is [Brief].
//
// It waits for events and never for the clock alone, so a slow machine makes it slower but not wrong. A whole run takes
// a few seconds. It requires a store whose times are right to a few milliseconds.
package storetest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lockgen/lockgen/internal/testsync"
	lockrt "github.com/lockgen/lockgen/runtime"
)

// OpenFunc returns a store for one test, and cleans up with t. Stores of different tests may share their data: the
// suite uses different keys in each.
type OpenFunc func(t *testing.T) lockrt.Store

// Option describes a store to Run.
type Option func(*options)

type options struct {
	url    func(*testing.T) string // nil: the store lives in one process
	coarse time.Duration
	brief  bool
}

// Brief does a fifth of the rounds where tests repeat themselves to hit a moment. It is for further ways to a store
// that has passed without it, such as another driver.
func Brief() Option { return func(o *options) { o.brief = true } }

// Coarse is for stores that may need d to notice that a process has died, although its lease ends sooner. Without it
// they get 3 s. The leases of the processes that the suite kills are half of d or longer.
func Coarse(d time.Duration) Option { return func(o *options) { o.coarse = d } }

// Run runs the whole suite.
func Run(t *testing.T, open OpenFunc, opts ...Option) {
	o := options{coarse: 3 * time.Second}
	for _, set := range opts {
		set(&o)
	}
	for _, group := range []struct {
		name  string
		tests map[string]func(*testing.T, *env)
	}{
		{"Acquire", acquireTests},
		{"Wait", waitTests},
		{"Crossing", crossingTests},
		{"Renew", renewTests},
		{"Release", releaseTests},
		{"ReleaseCrossing", releaseCrossingTests},
		{"Break", breakTests},
		{"BreakCrossing", breakCrossingTests},
		{"Told", toldTests},
		{"List", listTests},
		{"ListPage", pageTests},
		{"Locker", lockerTests},
		{"Several", severalTests},
		{"Reentrant", reentrantTests},
		{"Share", shareTests},
		{"ShareQueue", shareQueueTests},
		{"Downgrade", downgradeTests},
		{"ShareLocker", shareLockerTests},
		{"Death", deathTests},
	} {
		t.Run(group.name, func(t *testing.T) {
			for name, test := range group.tests {
				t.Run(name, func(t *testing.T) { test(t, newEnv(t, open(t), o)) })
			}
		})
	}
}

const (
	// long is a TTL that no test outlives.
	long = 10 * time.Minute
	// short is a TTL that tests wait for the end of.
	short = 150 * time.Millisecond
)

// env is one test's store, with a namespace of its own.
type env struct {
	t         *testing.T
	ctx       context.Context
	store     lockrt.Store
	namespace string
	options   options
	epochs    map[share]uint64 // of the grants of takeAs and grantedAs
	believed  map[lockrt.Session]*belief
}

// belief is the leases that a session is told, if it asks, that its Locker considers held.
type belief struct {
	mu     sync.Mutex
	leases []lockrt.HeldLease
}

func (b *belief) held() []lockrt.HeldLease {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.leases)
}

func newEnv(t *testing.T, store lockrt.Store, o options) *env {
	ctx, cancel := context.WithTimeout(context.Background(), 2*testsync.Patience)
	t.Cleanup(cancel)
	return &env{t: t, ctx: ctx, store: store, namespace: "storetest " + rand.Text(), options: o,
		epochs: make(map[share]uint64), believed: make(map[lockrt.Session]*belief)}
}

// rounds is how often a test does what does not hit its moment each time.
func (e *env) rounds(n int) int {
	if e.options.brief {
		return (n + 4) / 5
	}
	return n
}

// session opens a session whose losses arrive on the returned channel, as many as it has room for.
func (e *env) session(node string) (lockrt.Session, <-chan loss) {
	e.t.Helper()
	losses := make(chan loss, 100)
	return e.sessionThat(node, func(id string, reason error) { testsync.Offer(losses, loss{id, reason}) }), losses
}

// sessionThat opens a session with a SessionConfig.Lost.
func (e *env) sessionThat(node string, lost func(id string, reason error)) lockrt.Session {
	e.t.Helper()
	return e.sessionOf(lockrt.SessionConfig{Node: node, Lost: lost})
}

// sessionOf opens a session with what is not common to all in its configuration.
func (e *env) sessionOf(cfg lockrt.SessionConfig) lockrt.Session {
	e.t.Helper()
	believed := new(belief)
	cfg.Namespace, cfg.Logger, cfg.Held = e.namespace, slog.New(slog.DiscardHandler), believed.held
	s, err := e.store.Open(cfg)
	if err != nil {
		e.t.Fatalf("open a session: %v", err)
	}
	e.believed[s] = believed
	e.t.Cleanup(func() {
		if err := s.Close(context.Background()); err != nil {
			e.t.Errorf("close the session: %v", err)
		}
	})
	return s
}

type loss struct {
	id     string
	reason error
}

// locker opens a Locker, as one process would.
func (e *env) locker(node string) *lockrt.Locker {
	e.t.Helper()
	l, err := lockrt.New(e.store, lockrt.Config{Namespace: e.namespace, Node: node, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		e.t.Fatalf("open a locker: %v", err)
	}
	e.t.Cleanup(func() {
		if err := l.Close(context.Background()); err != nil {
			e.t.Errorf("close the locker: %v", err)
		}
	})
	return l
}

// take acquires without waiting and fails the test if that fails.
func (e *env) take(s lockrt.Session, key, id string, ttl time.Duration) lockrt.Grant {
	e.t.Helper()
	g, err := s.Acquire(e.ctx, lockrt.Request{Key: key, ID: id, TTL: ttl})
	if err != nil {
		e.t.Fatalf("acquire %q for %q: %v", key, id, err)
	}
	return g
}

// believes has a session ask about a lease, as for a Locker, where it may have been told of its end too early to hear it.
func (e *env) believes(s lockrt.Session, key, id string) {
	b := e.believed[s]
	b.mu.Lock()
	defer b.mu.Unlock()
	b.leases = append(b.leases, lockrt.HeldLease{Key: key, ID: id})
}

func (e *env) release(s lockrt.Session, key, id string) {
	e.t.Helper()
	if err := s.Release(e.ctx, lockrt.Release{Key: key, ID: id}); err != nil {
		e.t.Fatalf("release %q of %q: %v", key, id, err)
	}
}

// outcome is the end of a waiting Acquire.
type outcome struct {
	grant lockrt.Grant
	err   error
}

// wait starts an Acquire that waits, and returns when it is in the queue.
func (e *env) wait(ctx context.Context, s lockrt.Session, req lockrt.Request) <-chan outcome {
	e.t.Helper()
	done := make(chan outcome, 1)
	go func() {
		g, err := s.Acquire(ctx, req)
		done <- outcome{g, err}
	}()
	testsync.Eventually(e.t, "waiter "+req.ID+" is in the queue", func() bool {
		if len(done) > 0 {
			return true // it was, and a slow machine did not see it there
		}
		for _, w := range e.info(s, req.Key).Waiters {
			if w.ID == req.ID {
				return true
			}
		}
		return false
	})
	return done
}

// granted waits for a waiter's grant.
func (e *env) granted(id string, done <-chan outcome) lockrt.Grant {
	e.t.Helper()
	o := e.outcome(id, done)
	if o.err != nil {
		e.t.Fatalf("waiter %s: %v", id, o.err)
	}
	return o.grant
}

func (e *env) outcome(id string, done <-chan outcome) outcome {
	e.t.Helper()
	select {
	case o := <-done:
		return o
	case <-time.After(testsync.Patience):
		e.t.Fatalf("waiter %s is still waiting", id)
		panic("unreachable")
	}
}

// tooLate reports whether an error says that the store had not answered by the end of a short wait, as on a busy machine:
// then it has not said who holds the lock.
func tooLate(err error) bool { return err != nil && strings.Contains(err.Error(), "did not answer") }

// info returns what List says of key; the zero value if it is free.
func (e *env) info(s lockrt.Session, key string) lockrt.LockInfo {
	e.t.Helper()
	infos, err := s.List(e.ctx, key)
	if err != nil {
		e.t.Fatalf("list %q: %v", key, err)
	}
	for _, info := range infos {
		if info.Key == key {
			return info
		}
	}
	return lockrt.LockInfo{}
}

// free waits until nobody holds key, nor keeps it.
func (e *env) free(s lockrt.Session, key string) {
	e.t.Helper()
	testsync.Eventually(e.t, fmt.Sprintf("%q is free again", key), func() bool { return e.info(s, key).Key == "" })
}

// busy checks that err is the *BusyError of key held by node.
func (e *env) busy(err error, key, node string) {
	e.t.Helper()
	var busy *lockrt.BusyError
	if !errors.As(err, &busy) || !errors.Is(err, lockrt.ErrBusy) {
		e.t.Fatalf("the error is %v, want a *BusyError", err)
	}
	if busy.Key != key || busy.Holder != node {
		e.t.Errorf("busy error names key %q and holder %q, want %q and %q", busy.Key, busy.Holder, key, node)
	}
}
