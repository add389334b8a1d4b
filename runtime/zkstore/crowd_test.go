package zkstore_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lockgen/lockgen/internal/testenv"
	"github.com/lockgen/lockgen/internal/testsync"
	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/zkstore"
)

// Callers who want a lock in strict order give up soon, faster than what they have put there can be deleted. They do not
// leave more and more of it, and the lock goes on.
func TestStore_callersWhoGiveUpSoon(t *testing.T) {
	e := one(t)
	conn := client(t, e.Addrs())
	strict := lockrt.Config{LocalHandoffs: -1}
	const callers, enough, most = 100, 4000, 600
	var all sync.WaitGroup
	var gaveUp, queue atomic.Int64
	for _, name := range []string{"a", "b"} {
		locks := newLocker(t, e.Addrs(), config(patient), name, strict)
		for range callers {
			all.Go(func() {
				for gaveUp.Load() < enough {
					ctx, cancel := context.WithTimeout(t.Context(), rand.N(30*time.Millisecond))
					if lease, err := locks.Acquire(ctx, "k", lockrt.Options{TTL: long, Wait: lockrt.Forever}); err == nil {
						_ = lease.Release(t.Context())
					} else {
						gaveUp.Add(1)
					}
					cancel()
				}
			})
		}
	}
	done := make(chan struct{})
	go func() {
		all.Wait()
		close(done)
	}()
	for over := false; !over; {
		select {
		case <-done:
			over = true
		case <-time.After(20 * time.Millisecond):
		}
		names, _, _ := conn.Children(root(t) + "/l/k")
		queue.Store(max(queue.Load(), int64(len(names))))
	}
	t.Logf("%d callers gave up, at most %d contenders were there", gaveUp.Load(), queue.Load())
	if queue.Load() > most {
		t.Errorf("%d contenders were there at a time, of %d callers", queue.Load(), 2*callers)
	}
	next := newLocker(t, e.Addrs(), config(patient), "next", strict)
	release(t, acquire(t, next, "k", lockrt.Options{TTL: long, Wait: time.Minute}))
}

// Callers give up at any moment, each before a lock of its own that nobody has ever had. The servers delete the node of a
// lock when its last child has gone, and never if there was none: those are deleted by who made them.
func TestStore_giveUpBeforeANewLock(t *testing.T) {
	e := one(t)
	n := newNode(t, e.Addrs(), config(patient), "a", lockrt.Config{})
	release(t, acquire(t, n.locks, "warm", lockrt.Options{TTL: long}))
	n.lines[0].Slow(2 * time.Millisecond)
	var all sync.WaitGroup
	var next atomic.Int64
	for range 20 {
		all.Go(func() {
			for i := next.Add(1); i <= 1000; i = next.Add(1) {
				ctx, cancel := context.WithCancelCause(context.Background())
				reason := []error{context.DeadlineExceeded, errors.New("the caller's own reason")}[i/2%2]
				end := time.AfterFunc(rand.N(30*time.Millisecond), func() { cancel(reason) })
				o := lockrt.Options{TTL: long, Wait: []time.Duration{0, time.Minute}[i%2]}
				if lease, err := n.locks.Acquire(ctx, fmt.Sprint("order", i), o); err == nil {
					_ = lease.Release(context.Background())
				}
				end.Stop()
				cancel(nil)
			}
		})
	}
	all.Wait()
	conn := client(t, e.Addrs())
	testsync.Eventually(t, "no node is left of a lock that nobody had", func() bool {
		names, _, err := conn.Children(root(t) + "/l")
		never := 0
		for _, name := range names {
			there, stat, looked := conn.Exists(root(t) + "/l/" + name)
			if err = errors.Join(err, looked); there && stat.Cversion == 0 {
				never++
			}
		}
		if never > 0 {
			time.Sleep(50 * time.Millisecond)
		}
		return err == nil && never == 0
	})
	mustBeEmpty(t, conn)
}

// A server comes back without its data. It refuses sessions that have seen more than it knows: they begin anew.
func TestStore_serverWithoutItsData(t *testing.T) {
	e := testenv.ZooKeeper(t, testenv.ZooKeeperConfig{Tick: tick})
	server := e.Servers[0]
	a := newLocker(t, e.Addrs(), config(dying), "a", lockrt.Config{})
	b := newLocker(t, e.Addrs(), config(dying), "b", lockrt.Config{})
	for range 20 { // the more they have seen
		release(t, acquire(t, b, "warm", lockrt.Options{TTL: time.Second, Wait: time.Minute}))
	}
	held := acquire(t, a, "k", lockrt.Options{TTL: time.Second, Wait: time.Minute})
	got := make(chan *lockrt.Lease)
	go func() {
		lease, err := b.Acquire(t.Context(), "k", lockrt.Options{TTL: time.Second, Wait: time.Minute})
		if err != nil {
			t.Error(err)
		}
		got <- lease
	}()
	testsync.Eventually(t, "b waits", func() bool {
		info, err := a.Holder(t.Context(), "k")
		return err == nil && len(info.Waiters) == 1
	})
	server.Kill()
	if err := os.RemoveAll(filepath.Join(server.Data(), "version-2")); err != nil {
		t.Fatal(err)
	}
	if err := server.Restart(); err != nil {
		t.Fatal(err)
	}
	<-held.Done()
	lease := <-got
	if lease == nil {
		return
	}
	release(t, lease)
	release(t, acquire(t, a, "other", lockrt.Options{TTL: time.Second, Wait: time.Minute}))
}

// A connection is cut on which a crowd waits. Each of them looks again at the queue, of which the servers tell few of them:
// else there would be as many names as the square of the crowd, and signs of life would wait behind those.
func TestStore_crowdLooksTogether(t *testing.T) {
	e := one(t)
	line := testenv.NewProxy(t, e.Addrs()[0])
	s, err := zkstore.New([]string{line.Addr()}, config(patient)).Open(lockrt.SessionConfig{
		Namespace: t.Name(), Node: "a", Lost: func(string, error) {}, Logger: slog.New(slog.DiscardHandler),
		Held: func() []lockrt.HeldLease { return nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close(context.Background())
	if _, err := s.Acquire(t.Context(), lockrt.Request{Key: "k", ID: "holder", TTL: long}); err != nil {
		t.Fatal(err)
	}
	const crowd = 600
	ctx, leave := context.WithCancel(t.Context())
	var all sync.WaitGroup
	var looks [crowd]atomic.Int64
	for i := range crowd {
		all.Go(func() {
			req := lockrt.Request{Key: "k", ID: fmt.Sprint("waiter", i), TTL: long, Wait: lockrt.Forever}
			req.Told = func(*lockrt.BusyError, error) { looks[i].Add(1) }
			if _, err := s.Acquire(ctx, req); ctx.Err() == nil {
				t.Errorf("a waiter: %v", err)
			}
		})
	}
	haveLooked := func() bool {
		for i := range looks {
			if looks[i].Load() == 0 {
				return false
			}
		}
		return true
	}
	testsync.Eventually(t, "all stand in the queue", haveLooked)
	for i := range looks {
		looks[i].Store(0)
	}
	before := line.Answered()
	line.Cut()
	testsync.Eventually(t, "all have looked again", haveLooked)
	if bytes := line.Answered() - before; bytes > crowd*crowd*10 {
		t.Errorf("the servers have told a crowd of %d %d bytes", crowd, bytes)
	}
	leave()
	all.Wait()
}
