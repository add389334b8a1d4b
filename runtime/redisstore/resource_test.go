package redisstore_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockgen/lockgen/internal/testsync"
	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/redisstore"
)

// resource is what a lock protects, with a memory: it notices when two leases believe in themselves at once, and
// refuses writes under an old fence.
type resource struct {
	t testing.TB

	mu      sync.Mutex
	visits  []*visit
	highest lockrt.Fence
	refused int
}

// visit is the time that somebody spent under a lease.
type visit struct {
	lease      *lockrt.Lease
	start, end time.Time // end is zero while it lasts
}

// enter begins a visit. Who is still inside must not believe in its lease any more: a lease knows its own end by the
// clock, however late its goroutine gets to run.
func (r *resource) enter(lease *lockrt.Lease) *visit {
	r.t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, v := range r.visits {
		if v.end.IsZero() && v.lease.Err() == nil {
			r.t.Errorf("overlap: fence %d entered while fence %d believes in its lease until %s from now", lease.Fence(), v.lease.Fence(), time.Until(v.lease.Deadline()))
		}
	}
	if lease.Fence() <= r.highest {
		r.t.Errorf("fence %d after %d", lease.Fence(), r.highest)
	}
	r.highest = max(r.highest, lease.Fence())
	v := &visit{lease: lease, start: time.Now()}
	r.visits = append(r.visits, v)
	return v
}

func (r *resource) leave(v *visit) {
	r.mu.Lock()
	defer r.mu.Unlock()
	v.end = time.Now()
}

// write reports whether the fence is good enough.
func (r *resource) write(f lockrt.Fence) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if f < r.highest {
		r.refused++
		return false
	}
	r.highest = f
	return true
}

func (r *resource) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.visits)
}

// newLocker opens a Locker, as one process would, closed with the test.
func newLocker(t testing.TB, client redis.UniversalClient, cfg redisstore.Config, change ...func(*lockrt.Config)) *lockrt.Locker {
	t.Helper()
	lockCfg := lockrt.Config{Logger: slog.New(slog.DiscardHandler)}
	for _, f := range change {
		f(&lockCfg)
	}
	locks, err := lockrt.New(redisstore.New(client, cfg), lockCfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		_ = locks.Close(ctx) // some tests end with the server away
	})
	return locks
}

// strict makes every caller wait in the server's queue.
func strict(cfg *lockrt.Config) { cfg.LocalHandoffs = -1 }

// testContext ends when a test hangs.
func testContext(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), testsync.Patience)
	t.Cleanup(cancel)
	return ctx
}

func mustAcquire(ctx context.Context, t testing.TB, locks *lockrt.Locker, key string, o lockrt.Options) *lockrt.Lease {
	t.Helper()
	lease, err := locks.Acquire(ctx, key, o)
	if err != nil {
		t.Fatalf("acquire: %v", err)
	}
	return lease
}

func mustRelease(ctx context.Context, t testing.TB, lease *lockrt.Lease) {
	t.Helper()
	if err := lease.Release(ctx); err != nil {
		t.Fatalf("release: %v", err)
	}
}

// acquiring starts an Acquire in the background.
func acquiring(ctx context.Context, locks *lockrt.Locker, key string, o lockrt.Options) <-chan result {
	done := make(chan result, 1)
	go func() {
		lease, err := locks.Acquire(ctx, key, o)
		done <- result{lease, err}
	}()
	return done
}

type result struct {
	lease *lockrt.Lease
	err   error
}

func (r result) must(t testing.TB) *lockrt.Lease {
	t.Helper()
	if r.err != nil {
		t.Fatalf("acquire: %v", r.err)
	}
	return r.lease
}

// follows is must for a lease that comes after another.
func (r result) follows(t testing.TB, old *lockrt.Lease) *lockrt.Lease {
	t.Helper()
	lease := r.must(t)
	if lease.Fence() <= old.Fence() {
		t.Errorf("fence %d after %d", lease.Fence(), old.Fence())
	}
	return lease
}

// releaseLost releases a lease that is lost, which touches nothing of the next.
func releaseLost(ctx context.Context, t testing.TB, lost, next *lockrt.Lease) {
	t.Helper()
	if err := lost.Release(ctx); !errors.Is(err, lockrt.ErrLost) {
		t.Errorf("release of the lost lease: %v, want ErrLost", err)
	}
	if err := next.Check(ctx); err != nil {
		t.Errorf("the release of the lost lease touched the next one: %v", err)
	}
	mustRelease(ctx, t, next)
}

// queued waits until so many stand in the server's queue.
func queued(t testing.TB, locks *lockrt.Locker, key string, n int) {
	t.Helper()
	testsync.Eventually(t, "the waiters are in the queue", func() bool {
		info, err := locks.Holder(context.Background(), key)
		return err == nil && len(info.Waiters) == n
	})
}
