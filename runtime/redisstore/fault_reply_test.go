package redisstore_test

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockgen/lockgen/internal/testenv"
	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/redisstore"
)

// long is a TTL that no test outlives: who gets a lock of such a lease did not wait for its end.
const long = 10 * time.Minute

// isEval matches a script call on one of the lock's keys.
func isEval(request []byte, key string) bool {
	return bytes.Contains(bytes.ToLower(request[:min(len(request), 40)]), []byte("eval")) && bytes.Contains(request, []byte(key))
}

// cutFirst loses the first n answers to script calls on the key, after the script has run.
func cutFirst(n int, key string, then func()) func(request, reply []byte) verdict {
	var mu sync.Mutex // connections are judged side by side
	return func(request, reply []byte) verdict {
		mu.Lock()
		defer mu.Unlock()
		if n == 0 || !isEval(request, key) || bytes.HasPrefix(reply, []byte("-NOSCRIPT")) {
			return pass
		}
		if n--; n == 0 && then != nil {
			then()
		}
		return cut
	}
}

func TestFault_blackHoledHolder(t *testing.T) {
	server := testenv.Redis(t)
	ctx := testContext(t)
	for _, ttl := range []time.Duration{300 * time.Millisecond, time.Second} {
		p := newProxy(t, server.Addr())
		a, b := newLocker(t, p.client(), redisstore.Config{}), newLocker(t, newClient(t, server), redisstore.Config{})
		thing := &resource{t: t}
		lease := mustAcquire(ctx, t, a, "k", lockrt.Options{TTL: ttl})
		thing.enter(lease)
		next := acquiring(ctx, b, "k", lockrt.Options{TTL: long, Wait: lockrt.Forever})
		queued(t, b, "k", 1)
		p.set(func() { p.hole = true })
		taken := (<-next).must(t)
		thing.enter(taken) // fails if the black-holed holder believes in its lease now
		<-lease.Context().Done()
		if cause := context.Cause(lease.Context()); !errors.Is(cause, lockrt.ErrLost) {
			t.Errorf("the cause of the holder's context is %v, want ErrLost", cause)
		}
		p.set(func() { p.hole = false })
		releaseLost(ctx, t, lease, taken)
	}
}

func TestFault_acquireReplyLost(t *testing.T) {
	server := testenv.Redis(t)
	ctx := testContext(t)
	direct := newLocker(t, newClient(t, server), redisstore.Config{})
	for name, wait := range map[string]time.Duration{"try": 0, "wait": time.Minute} {
		t.Run(name, func(t *testing.T) {
			p := newProxy(t, server.Addr())
			locks := newLocker(t, p.client(), redisstore.Config{})
			p.set(func() { p.reply = cutFirst(1, "{retried}", nil) })
			lease := mustAcquire(ctx, t, locks, "retried", lockrt.Options{TTL: long, Wait: wait})
			if p.lost() != 1 {
				t.Errorf("%d answers were lost, want 1", p.lost())
			}
			if info, err := direct.Holder(ctx, "retried"); err != nil || info.Fence != lease.Fence() {
				t.Errorf("the server knows %+v (error %v), the lease has fence %d", info, err, lease.Fence())
			}
			mustRelease(ctx, t, lease)
			if _, err := direct.Holder(ctx, "retried"); !errors.Is(err, lockrt.ErrNotHeld) {
				t.Errorf("after the release: %v, want ErrNotHeld", err)
			}
		})
		t.Run(name+", never retried", func(t *testing.T) {
			p := newProxy(t, server.Addr())
			locks := newLocker(t, p.client(func(o *redis.Options) { o.MaxRetries = -1 }), redisstore.Config{})
			p.set(func() { p.reply = cutFirst(1, "{given up}", nil) })
			if lease, err := locks.Acquire(ctx, "given up", lockrt.Options{TTL: long, Wait: wait}); err == nil {
				t.Fatalf("acquired fence %d although the answer was lost", lease.Fence())
			} else if errors.Is(err, lockrt.ErrBusy) {
				t.Errorf("a store that does not answer is no busy lock: %v", err)
			}
			mustRelease(ctx, t, mustAcquire(ctx, t, direct, "given up", lockrt.Options{TTL: long, Wait: 30 * time.Second}))
		})
	}
}

// The client repeats the call after the first answer was lost, and is refused: that error says nothing about the first.
func TestFault_replyLostThenRefused(t *testing.T) {
	server := testenv.Redis(t)
	ctx := testContext(t)
	direct := newLocker(t, newClient(t, server), redisstore.Config{})
	p := newProxy(t, server.Addr())
	locks := newLocker(t, p.client(), redisstore.Config{})
	refused := make(chan struct{})
	p.set(func() {
		p.reply = cutFirst(1, "{k}", func() { p.refuse(); close(refused) })
	})
	if lease, err := locks.Acquire(ctx, "k", lockrt.Options{TTL: long}); err == nil {
		t.Fatalf("acquired fence %d from a server that refuses connections", lease.Fence())
	}
	<-refused
	if _, err := direct.Holder(ctx, "k"); err != nil {
		t.Fatalf("the script did not run: %v", err)
	}
	p.accept()
	mustRelease(ctx, t, mustAcquire(ctx, t, direct, "k", lockrt.Options{TTL: long, Wait: 30 * time.Second}))
}

func TestFault_releaseReplyLost(t *testing.T) {
	server := testenv.Redis(t)
	ctx := testContext(t)
	direct := newLocker(t, newClient(t, server), redisstore.Config{})
	p := newProxy(t, server.Addr())
	locks := newLocker(t, p.client(), redisstore.Config{})
	thing := &resource{t: t}

	lease := mustAcquire(ctx, t, locks, "k", lockrt.Options{TTL: long})
	v := thing.enter(lease)
	next := acquiring(ctx, direct, "k", lockrt.Options{TTL: long, Wait: lockrt.Forever})
	queued(t, direct, "k", 1)
	p.set(func() { p.reply = cutFirst(1, "{k}", nil) })
	thing.leave(v)
	if err := lease.Release(ctx); err != nil {
		t.Errorf("release whose first answer was lost: %v", err)
	}
	if p.lost() != 1 {
		t.Errorf("%d answers were lost, want 1", p.lost())
	}
	taken := (<-next).must(t)
	thing.enter(taken)
	if err := taken.Check(ctx); err != nil {
		t.Errorf("the second release touched the next holder's lock: %v", err)
	}
	mustRelease(ctx, t, taken)
}
