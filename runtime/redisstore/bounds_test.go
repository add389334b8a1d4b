package redisstore

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockgen/lockgen/internal/testsync"
	lockrt "github.com/lockgen/lockgen/runtime"
)

// silentServer takes connections and says nothing.
func silentServer(t *testing.T) (addr string) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var (
		wg    sync.WaitGroup
		mu    sync.Mutex
		conns []net.Conn
	)
	wg.Go(func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			conns = append(conns, conn)
			mu.Unlock()
			wg.Go(func() { _, _ = io.Copy(io.Discard, conn) })
		}
	})
	t.Cleanup(func() {
		_ = ln.Close()
		mu.Lock()
		for _, conn := range conns {
			_ = conn.Close()
		}
		mu.Unlock()
		wg.Wait()
	})
	return ln.Addr().String()
}

// everyCall is every method of a session that asks the server.
var everyCall = map[string]func(ctx context.Context, s *session) error{
	"try": func(ctx context.Context, s *session) error {
		_, err := s.Acquire(ctx, lockrt.Request{Key: "k", ID: "try", TTL: time.Hour})
		return err
	},
	"wait": func(ctx context.Context, s *session) error {
		_, err := s.Acquire(ctx, lockrt.Request{Key: "k", ID: "wait", TTL: time.Hour, Wait: lockrt.Forever})
		return err
	},
	"renew": func(ctx context.Context, s *session) error {
		return s.Renew(ctx, []lockrt.Renewal{{Key: "k", ID: "a", TTL: time.Hour}})[0]
	},
	"release": func(ctx context.Context, s *session) error {
		return s.Release(ctx, lockrt.Release{Key: "k", ID: "a"})
	},
	"retain": func(ctx context.Context, s *session) error {
		return s.Release(ctx, lockrt.Release{Key: "k", ID: "a", Keep: time.Second})
	},
	"check": func(ctx context.Context, s *session) error {
		return s.Check(ctx, []lockrt.HeldLease{{Key: "k", ID: "a"}})[0]
	},
	"break": func(ctx context.Context, s *session) error {
		return s.Break(ctx, lockrt.Breaking{Key: "k", ID: "a", Fence: 1 << 20})
	},
	"list":    func(ctx context.Context, s *session) error { _, err := s.List(ctx, ""); return err },
	"page":    func(ctx context.Context, s *session) error { _, _, err := s.ListPage(ctx, "", "", 10); return err },
	"inspect": func(ctx context.Context, s *session) error { _, err := s.Inspect(ctx, "k"); return err },
}

// However the client is made, nobody waits for a server that is silent longer than for its own context, or for 5 s.
func TestSession_silentServer(t *testing.T) {
	for name, opts := range map[string]*redis.Options{
		"recommended": {ContextTimeoutEnabled: true},
		"by default":  {},
		"endless":     {ReadTimeout: -1, WriteTimeout: -1},
		"exhausted":   {ContextTimeoutEnabled: true, PoolSize: 1, PipelinePoolSize: -1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			opts.Addr = silentServer(t)
			client := redis.NewClient(opts)
			opened, err := New(client, Config{}).Open(lockrt.SessionConfig{
				Namespace: "lock", Node: "node", Logger: slog.New(slog.DiscardHandler), Lost: func(string, error) {},
			})
			if err != nil {
				t.Fatal(err)
			}
			s := opened.(*session)
			const slack = 2 * time.Second // of a busy machine; the promise is 100 ms
			var wg sync.WaitGroup
			for what, call := range everyCall {
				for _, wait := range []time.Duration{100 * time.Millisecond, callTime} {
					wg.Go(func() {
						ctx, cancel := context.WithCancel(t.Context())
						defer cancel()
						if wait < callTime {
							defer time.AfterFunc(wait, cancel).Stop()
						}
						start := time.Now()
						err := call(ctx, s)
						if took := time.Since(start); took > wait+slack {
							t.Errorf("%s returned after %s, want %s", what, took, wait)
						}
						switch {
						case err == nil || errors.Is(err, lockrt.ErrBusy) || errors.Is(err, lockrt.ErrLost):
							t.Errorf("%s: %v", what, err)
						case wait < callTime && !errors.Is(err, context.Canceled):
							t.Errorf("%s of a caller who left: %v", what, err)
						case wait == callTime && (errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)):
							t.Errorf("%s of a caller without end says that its context has ended: %v", what, err)
						}
						if name == "endless" && wait == callTime && !strings.Contains(err.Error(), "the store did not answer within 5s") {
							t.Errorf("%s: %v, want that the store did not answer", what, err)
						}
					})
				}
			}
			start := time.Now()
			_, err = s.Acquire(t.Context(), lockrt.Request{Key: "k", ID: "short", TTL: time.Hour, Wait: 300 * time.Millisecond})
			if took := time.Since(start); took > 300*time.Millisecond+slack || err == nil || errors.Is(err, lockrt.ErrBusy) ||
				errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("a wait of 300ms: %v after %s", err, took)
			}
			wg.Wait()
			ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
			defer cancel()
			start = time.Now()
			_ = s.Close(ctx)
			if took := time.Since(start); took > 200*time.Millisecond+slack {
				t.Errorf("Close returned after %s", took)
			}
			_ = client.Close()       // ends what an endless client would wait for
			_ = s.Close(t.Context()) // waits until all has ended
		})
	}
}

// Work that takes all connections of the caller's client for long loses no lease.
func TestSession_renewsBesideAnExhaustedPool(t *testing.T) {
	r := newRig(t)
	client := redis.NewClient(&redis.Options{
		Addr: r.client.Options().Addr, ContextTimeoutEnabled: true, PoolSize: 2, PipelinePoolSize: -1,
	})
	t.Cleanup(func() { _ = client.Close() })
	mine := *r
	mine.client = client
	s, _ := mine.newSession(Config{})
	r.hold(s, "a")
	ctx, cancel := context.WithCancel(r.ctx)
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() { client.BLPop(ctx, 0, "nothing") })
	}
	testsync.Eventually(t, "the pool is exhausted", func() bool {
		stats := client.PoolStats()
		return stats.TotalConns == 2 && stats.IdleConns == 0
	})
	if errs := s.Renew(r.ctx, []lockrt.Renewal{{Key: "k", ID: "a", TTL: time.Hour}}); errs[0] != nil {
		t.Errorf("the renewal: %v", errs[0])
	}
	cancel()
	if err := r.client.ClientKillByFilter(r.ctx, "TYPE", "normal", "SKIPME", "yes").Err(); err != nil {
		t.Fatal(err)
	}
	wg.Wait()
}

// What the store said is told while the request waits, and a place that is to stay stays.
func TestSession_toldAndKept(t *testing.T) {
	r := newRig(t)
	s, _ := r.newSession(Config{})
	r.acquire("holder", "p", 0)
	var told []*lockrt.BusyError
	req := lockrt.Request{
		Key: "k", ID: "w", TTL: time.Hour, Wait: 50 * time.Millisecond,
		Told: func(busy *lockrt.BusyError, _ error) { told = append(told, busy) },
		Keep: func() bool { return true },
	}
	if _, err := s.Acquire(r.ctx, req); !errors.Is(err, lockrt.ErrBusy) {
		t.Fatalf("%v, want busy", err)
	}
	if len(told) == 0 || told[0] == nil || told[0].Holder != "node p" {
		t.Errorf("told was %v", told)
	}
	r.acquire("behind", "q", rigLiveness)
	r.wantQueue("w", "behind")
	req.TTL, req.Wait, req.Keep = 2*time.Hour, time.Minute, nil
	done := make(chan acquired, 1)
	go func() {
		g, err := s.Acquire(r.ctx, req)
		done <- acquired{g, err}
	}()
	testsync.Eventually(t, "the place has the other TTL", func() bool {
		return strings.HasPrefix(r.hash()["w"], "7200000 ")
	})
	r.wantQueue("w", "behind")
	r.release("holder", 0)
	if a := <-done; a.err != nil {
		t.Error(a.err)
	}
	r.wantOwner("w")
}

// Calls that are gathered while others are in flight have no more time than those.
func TestSession_silentServer_manyCallers(t *testing.T) {
	t.Parallel()
	client := redis.NewClient(&redis.Options{Addr: silentServer(t)})
	opened, err := New(client, Config{}).Open(lockrt.SessionConfig{
		Namespace: "lock", Node: "node", Logger: slog.New(slog.DiscardHandler), Lost: func(string, error) {},
	})
	if err != nil {
		t.Fatal(err)
	}
	s := opened.(*session)
	// As if the server had answered once.
	s.stripes[0].clock.Learn(clockPair{Local: time.Now(), Micros: time.Now().UnixMicro()})
	start := time.Now()
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			name := strconv.Itoa(i)
			_, err := s.Acquire(context.Background(), lockrt.Request{Key: name, ID: name, TTL: time.Hour})
			if err == nil || errors.Is(err, lockrt.ErrBusy) || errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("acquire: %v", err)
			}
			if took := time.Since(start); took > callTime+3*time.Second {
				t.Errorf("acquire returned after %s, want %s", took, callTime)
			}
		})
	}
	wg.Wait()
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = s.Close(ctx)
	_ = client.Close()
}
