package redisstore_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockgen/lockgen/internal/testenv"
	"github.com/lockgen/lockgen/internal/testsync"
	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/redisstore"
)

// With every write on disk, kill -9 and a restart lose nothing: the holder still holds, who waited still waits.
func TestFault_serverKilledWithAOF(t *testing.T) {
	server := testenv.Redis(t, testenv.RedisConfig{AOF: true})
	ctx := testContext(t)
	a, b := newLocker(t, newClient(t, server), redisstore.Config{}), newLocker(t, newClient(t, server), redisstore.Config{})
	thing := &resource{t: t}

	lease := mustAcquire(ctx, t, a, "k", lockrt.Options{TTL: 40 * time.Second})
	v := thing.enter(lease)
	next := acquiring(ctx, b, "k", lockrt.Options{TTL: long, Wait: lockrt.Forever})
	queued(t, a, "k", 1)
	server.Kill()
	server.Restart()
	testsync.Eventually(t, "the server is asked again", func() bool { return lease.Check(ctx) == nil })
	if lease.Err() != nil {
		t.Fatalf("the lease after the restart: %v", lease.Err())
	}
	thing.leave(v)
	mustRelease(ctx, t, lease)
	taken := (<-next).must(t)
	thing.enter(taken)
	mustRelease(ctx, t, taken)
}

// A server that comes back empty has forgotten everybody. Holders notice at their next renewal, waiters when they are
// subscribed again; later fences are higher, because the clock is.
func TestFault_serverKilledWithoutData(t *testing.T) {
	server := testenv.Redis(t)
	ctx := testContext(t)
	a, b := newLocker(t, newClient(t, server), redisstore.Config{}), newLocker(t, newClient(t, server), redisstore.Config{})

	lease := mustAcquire(ctx, t, a, "k", lockrt.Options{TTL: 6 * time.Second})
	next := acquiring(ctx, b, "k", lockrt.Options{TTL: long, Wait: lockrt.Forever})
	queued(t, a, "k", 1)
	server.Kill()
	server.Restart()
	taken := (<-next).follows(t, lease)
	<-lease.Done()
	if err := lease.Err(); !errors.Is(err, lockrt.ErrLost) {
		t.Errorf("the forgotten lease: %v, want ErrLost", err)
	}
	mustRelease(ctx, t, taken)
}

// A call to a server that is away has certainly not released anything: "not the owner" from the one that comes back is
// a loss, not the answer to a release that had succeeded before.
func TestFault_releaseOfForgottenLeaseAfterRestart(t *testing.T) {
	server := testenv.Redis(t)
	ctx := testContext(t)
	p := newProxy(t, server.Addr())
	failed := make(failures, 1000)
	client := p.client()
	client.AddHook(failed)
	locks := newLocker(t, client, redisstore.Config{})
	lease := mustAcquire(ctx, t, locks, "k", lockrt.Options{TTL: long})
	p.refuse()
	server.Kill()
	released := make(chan error, 1)
	go func() { released <- lease.Release(ctx) }()
	<-failed // the release has been tried on a server that is not there
	server.Restart()
	p.accept()
	if err := <-released; !errors.Is(err, lockrt.ErrLost) {
		t.Errorf("release of a lease that the server has forgotten: %v, want ErrLost", err)
	}
}

// failures receives the error of every script call that failed.
type failures chan error

func (f failures) DialHook(next redis.DialHook) redis.DialHook { return next }

func (f failures) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		if err != nil && strings.HasPrefix(cmd.Name(), "eval") && !redis.HasErrorPrefix(err, "NOSCRIPT") {
			f <- err
		}
		return err
	}
}

func (f failures) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func TestFault_flushallIsNoticedAtTheNextRenewal(t *testing.T) {
	server := testenv.Redis(t)
	ctx := testContext(t)
	admin := newClient(t, server)
	a, b := newLocker(t, newClient(t, server), redisstore.Config{}), newLocker(t, newClient(t, server), redisstore.Config{})
	lease := mustAcquire(ctx, t, a, "k", lockrt.Options{TTL: 3 * time.Second})
	if err := admin.FlushAll(ctx).Err(); err != nil {
		t.Fatal(err)
	}
	taken := mustAcquire(ctx, t, b, "k", lockrt.Options{TTL: long})
	thing := &resource{t: t}
	if !thing.write(taken.Fence()) || thing.write(lease.Fence()) {
		t.Errorf("fence %d does not shut out %d", taken.Fence(), lease.Fence())
	}
	<-lease.Done()
	if err := lease.Err(); !errors.Is(err, lockrt.ErrLost) || time.Now().After(lease.Deadline()) {
		t.Errorf("the forgotten lease ended with %v, %s before its deadline; want ErrLost from a renewal", err, time.Until(lease.Deadline()))
	}
	releaseLost(ctx, t, lease, taken)
}

// Who waits shows life to a queue that is no more: that must tell it, not the end of the lease it last heard of.
func TestFault_flushallWakesWaiters(t *testing.T) {
	server := testenv.Redis(t)
	ctx := testContext(t)
	cfg := redisstore.Config{Liveness: 600 * time.Millisecond}
	a, b := newLocker(t, newClient(t, server), cfg), newLocker(t, newClient(t, server), cfg)
	lease := mustAcquire(ctx, t, a, "k", lockrt.Options{TTL: long})
	next := acquiring(ctx, b, "k", lockrt.Options{TTL: long, Wait: lockrt.Forever})
	queued(t, a, "k", 1)
	if err := newClient(t, server).FlushAll(ctx).Err(); err != nil {
		t.Fatal(err)
	}
	taken := (<-next).follows(t, lease) // or the test's context ends, long before the lease
	mustRelease(ctx, t, taken)
}

// FLUSHALL lets two hold the lock at once until the next renewal. That is what fences are for: whoever acquired later
// has the higher one.
func TestFault_flushallUnderLoad(t *testing.T) {
	server := testenv.Redis(t)
	ctx := testContext(t)
	type acquisition struct {
		fence       lockrt.Fence
		asked, came time.Time
	}
	var (
		mu   sync.Mutex
		all  []acquisition
		wg   sync.WaitGroup
		stop = make(chan struct{})
	)
	for range 3 {
		locks := newLocker(t, newClient(t, server), redisstore.Config{Liveness: 300 * time.Millisecond}, strict)
		for range 4 {
			wg.Go(func() {
				for {
					select {
					case <-stop:
						return
					default:
					}
					asked := time.Now()
					err := locks.Do(ctx, "k", lockrt.Options{TTL: 500 * time.Millisecond, Wait: lockrt.Forever}, func(_ context.Context, lease *lockrt.Lease) error {
						mu.Lock()
						defer mu.Unlock()
						all = append(all, acquisition{lease.Fence(), asked, time.Now()})
						return nil
					})
					if err != nil && !errors.Is(err, lockrt.ErrLost) {
						t.Errorf("acquire: %v", err)
						return
					}
				}
			})
		}
	}
	count := func() int {
		mu.Lock()
		defer mu.Unlock()
		return len(all)
	}
	admin := newClient(t, server)
	for range 8 {
		before := count()
		if err := admin.FlushAll(ctx).Err(); err != nil {
			t.Fatal(err)
		}
		testsync.Eventually(t, "the lock goes round again", func() bool { return count() > before+20 })
	}
	close(stop)
	wg.Wait()
	var highest lockrt.Fence
	var last time.Time
	for i, a := range all { // in the order of came
		for j := i - 1; j >= 0 && j > i-100; j-- {
			if all[j].came.Before(a.asked) && all[j].fence >= a.fence {
				t.Fatalf("fence %d was given after %d", a.fence, all[j].fence)
			}
		}
		highest, last = max(highest, a.fence), a.came
	}
	t.Logf("%d acquisitions, the last at %s with fence %d", len(all), last.Format(time.TimeOnly), highest)
}
