package redisstore_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockgen/lockgen/internal/testenv"
	"github.com/lockgen/lockgen/internal/testsync"
	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/redisstore"
)

// The network holds an acquire back until its caller has gone and its cancel, on another connection, was executed. Then
// the server gives the lock, or a place in the queue, to a lease that nobody wants any more. It does not stay there.
func TestFault_acquireThatComesAfterItsCancel(t *testing.T) {
	for name, wait := range map[string]time.Duration{"try": 0, "wait": lockrt.Forever} {
		t.Run("free lock, "+name, func(t *testing.T) {
			l := newLate(t)
			l.giveUp(wait)
			l.arrive("set")
			l.wantFree()
		})
	}
	t.Run("busy lock, wait", func(t *testing.T) {
		l := newLate(t)
		holder := mustAcquire(l.ctx, t, l.direct, "k", lockrt.Options{TTL: long})
		l.giveUp(lockrt.Forever)
		l.arrive("zadd")
		mustRelease(l.ctx, t, holder) // to the lease that nobody wants, if it has its place still
		l.wantFree()
	})
}

type late struct {
	t             *testing.T
	ctx           context.Context
	server        *testenv.RedisServer
	proxy         *proxy
	locks, direct *lockrt.Locker
	held, pass    chan struct{}
}

func newLate(t *testing.T) *late {
	l := &late{t: t, ctx: testContext(t), server: testenv.Redis(t), held: make(chan struct{}), pass: make(chan struct{})}
	l.proxy = newProxy(t, l.server.Addr())
	l.direct = newLocker(t, newClient(t, l.server), redisstore.Config{})
	// The client looks up from a connection when its time is over, not when the caller leaves. It heeds no deadline:
	// with those that do, a request that is held back for so long refuses itself.
	impatient := l.proxy.client(func(o *redis.Options) {
		o.ReadTimeout, o.ContextTimeoutEnabled = 300*time.Millisecond, false
	})
	l.locks = newLocker(t, impatient, redisstore.Config{})
	mustRelease(l.ctx, t, mustAcquire(l.ctx, t, l.direct, "other", lockrt.Options{TTL: long})) // the server knows the scripts
	return l
}

// giveUp lets an acquire be cancelled while the network has its request, and waits until the server has run the cancel.
func (l *late) giveUp(wait time.Duration) {
	l.t.Helper()
	var taken atomic.Bool
	l.proxy.set(func() {
		l.proxy.delay = func(request []byte) {
			if isEval(request, "{k}") && taken.CompareAndSwap(false, true) {
				close(l.held)
				<-l.pass
			}
		}
	})
	cancels := l.calls("zrem")
	ctx, cancel := context.WithCancel(l.ctx)
	lost := acquiring(ctx, l.locks, "k", lockrt.Options{TTL: long, Wait: wait})
	<-l.held
	cancel()
	if r := <-lost; !errors.Is(r.err, context.Canceled) {
		l.t.Fatalf("the acquire that was given up: %v", r.err)
	}
	testsync.Eventually(l.t, "the cancel was executed", func() bool { return l.calls("zrem") > cancels })
}

// arrive lets the request through and waits until the server has run it, which it shows by a command.
func (l *late) arrive(command string) {
	l.t.Helper()
	before := l.calls(command)
	close(l.pass)
	testsync.Eventually(l.t, "the late request was executed", func() bool { return l.calls(command) > before })
}

// calls is how often the server ran a command.
func (l *late) calls(command string) int {
	l.t.Helper()
	return redisstore.StatOf(l.t, newClient(l.t, l.server).Info(l.ctx, "commandstats").Val(), "cmdstat_"+command+":calls=")
}

func (l *late) wantFree() {
	l.t.Helper()
	lease, err := l.direct.Acquire(l.ctx, "k", lockrt.Options{TTL: long, Wait: 30 * time.Second})
	if err != nil {
		l.t.Fatalf("the lock belongs to a lease that nobody wants: %v", err)
	}
	mustRelease(l.ctx, l.t, lease)
}
