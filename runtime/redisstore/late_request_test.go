package redisstore

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockgen/lockgen/internal/testsync"
	lockrt "github.com/lockgen/lockgen/runtime"
)

// A request that refuses itself changes nothing, whatever it finds.
func TestAcquireScript_tooLate(t *testing.T) {
	r := newRig(t)
	ask := func(id string) answer {
		t.Helper()
		reply, err := r.askFor(r.keys, id, rigTTL, rigTTL+rigRetention, rigLiveness, channelOf("p")+" node p", 1)
		r.called("acquire", err)
		a, err := parseAnswer(reply, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	if a := ask("a"); !a.late || a.clock.Micros == 0 {
		t.Errorf("of a free lock: %+v, want late and the server's clock", a)
	}
	if n := r.client.DBSize(r.ctx).Val(); n != 0 {
		t.Errorf("%d keys were made", n)
	}
	r.acquire("holder", "q", 0)
	if a := ask("a"); !a.late {
		t.Errorf("of a held lock: %+v, want late", a)
	}
	r.wantQueue()
	// Two leases in one call are not to be taken for an epoch each.
	keys := []lockKeys{newKeySpace("lock").keys("x"), newKeySpace("lock").keys("y")}
	replies, err := acquireScript.Run(r.ctx, r.client, byKind(keys), rigTTL, rigTTL+rigRetention, 0, "c n", 1, "a", "b").Slice()
	if err != nil || len(replies) != 2 {
		t.Fatalf("%v, %v", replies, err)
	}
	for _, reply := range replies {
		if a, err := parseAnswer(reply, time.Now()); err != nil || !a.late {
			t.Errorf("of two locks: %+v, %v", a, err)
		}
	}
}

// holdback holds the first acquire back, as a network does: the client's connection breaks, and the request arrives
// when the test says so.
type holdback struct {
	mu   sync.Mutex
	held []any // the words of the request
}

func (h *holdback) DialHook(next redis.DialHook) redis.DialHook { return next }

func (h *holdback) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		args := cmd.Args()
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.held == nil && len(args) > 1 && args[1] == acquireScript.SHA {
			h.held = args
			cmd.SetErr(errReset)
			return errReset
		}
		return next(ctx, cmd)
	}
}

func (h *holdback) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// The client repeats the request, the lease is released, then the first request arrives: before its latest moment it
// takes the lock, and is followed by a cancel; after it, it changes nothing.
func TestSession_requestThatComesAfterTheRelease(t *testing.T) {
	t.Parallel()
	for _, wait := range []time.Duration{0, time.Minute} {
		t.Run(fmt.Sprint("wait ", wait), func(t *testing.T) {
			r := newRig(t)
			// A client that heeds no deadline: with others the first request refuses itself after quickTime already.
			client := redis.NewClient(&redis.Options{Addr: r.client.Options().Addr})
			t.Cleanup(func() { _ = client.Close() })
			if err := client.ScriptLoad(r.ctx, acquireScript.Source).Err(); err != nil {
				t.Fatal(err)
			}
			late := new(holdback)
			client.AddHook(late)
			behind := *r
			behind.client = client
			s, _ := behind.newSession(Config{})
			req := lockrt.Request{Key: "k", ID: "w", TTL: time.Hour, Wait: wait}
			if _, err := s.Acquire(r.ctx, req); err != nil {
				t.Fatal(err)
			}
			if err := s.Release(r.ctx, lockrt.Release{Key: "k", ID: "w"}); err != nil {
				t.Fatal(err)
			}
			arrive := func() { _ = r.client.Do(r.ctx, late.held...) }
			arrive()
			r.wantOwner("w") // it is not late yet; if this fails, the machine slept for five seconds
			testsync.Eventually(t, "the ghost is gone", func() bool { id, _ := r.owner(); return id == "" })
			testsync.Eventually(t, "nothing is left to cancel", func() bool { return s.abandonedNow() == 0 })
			arrive()
			r.wantOwner("")
		})
	}
}

// A caller that does not wait hears at the second attempt that the lock is busy. The first arrives after the holder has
// left: it takes the lock, and is followed by a cancel.
func TestSession_requestThatComesAfterBusy(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	client := redis.NewClient(&redis.Options{Addr: r.client.Options().Addr})
	t.Cleanup(func() { _ = client.Close() })
	if err := client.ScriptLoad(r.ctx, acquireScript.Source).Err(); err != nil {
		t.Fatal(err)
	}
	late := new(holdback)
	client.AddHook(late)
	behind := *r
	behind.client = client
	s, _ := behind.newSession(Config{})
	r.acquire("holder", "p", 0)
	_, err := s.Acquire(r.ctx, lockrt.Request{Key: "k", ID: "w", TTL: time.Hour})
	if !errors.Is(err, lockrt.ErrBusy) {
		t.Fatalf("the acquire ended with %v, want ErrBusy", err)
	}
	r.release("holder", 0)
	// A number is an epoch. If it is none, the machine slept for five seconds, and the request was late.
	if answer, err := r.client.Do(r.ctx, late.held...).Int64(); err != nil {
		t.Fatalf("the first attempt was answered %d, %v, want an epoch", answer, err)
	}
	testsync.Eventually(t, "the ghost is gone", func() bool { id, _ := r.owner(); return id == "" })
	testsync.Eventually(t, "nothing is left to cancel", func() bool { return s.abandonedNow() == 0 })
}

// A pair of clocks that is of yesterday makes the server refuse what is fresh: the answer renews it.
func TestSession_clockOfAnotherServer(t *testing.T) {
	r := newRig(t)
	s, _ := r.newSession(Config{})
	s.stripes[0].clock.Learn(clockPair{Local: time.Now(), Micros: time.Second.Microseconds()})
	if _, err := s.Acquire(r.ctx, lockrt.Request{Key: "k", ID: "a", TTL: time.Minute}); err != nil {
		t.Errorf("the request that refused itself: %v", err)
	}
	if now := r.client.Time(r.ctx).Val().UnixMicro(); s.stripes[0].clock.Latest(time.Now()) < now-time.Second.Microseconds() {
		t.Error("the answer did not renew the clock")
	}
}

// Nothing that a caller without a deadline hears of a limit of ours looks like the end of its context.
func TestExplain(t *testing.T) {
	own := fmt.Errorf("dial: %w", errors.Join(context.DeadlineExceeded, redis.ErrPoolTimeout))
	err := explain(t.Context(), own)
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) || !errors.Is(err, redis.ErrPoolTimeout) {
		t.Errorf("%v: only the context's error is to be hidden", err)
	}
	for _, our := range []error{context.DeadlineExceeded, fmt.Errorf("scan: %w", context.DeadlineExceeded)} {
		if text := explain(t.Context(), our).Error(); strings.Contains(text, "context") {
			t.Errorf("%q speaks of a context, and the caller's lives", text)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := explain(ended, errReset); !errors.Is(err, context.Canceled) || !errors.Is(err, errReset) {
		t.Errorf("of a context that has ended: %v", err)
	}
}
