package zkstore_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/lockgen/lockgen/internal/testenv"
	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/zkstore"
)

// node is a process of its own, as far as ZooKeeper knows, with a line to each server.
type node struct {
	name  string
	lines []*testenv.Proxy
	locks *lockrt.Locker
}

func newNode(t testing.TB, addrs []string, cfg zkstore.Config, name string, lock lockrt.Config) *node {
	t.Helper()
	n := &node{name: name}
	var through []string
	for _, addr := range addrs {
		line := testenv.NewProxy(t, addr)
		n.lines = append(n.lines, line)
		through = append(through, line.Addr())
	}
	n.locks = newLocker(t, through, cfg, name, lock)
	return n
}

func (n *node) each(do func(*testenv.Proxy)) {
	for _, line := range n.lines {
		do(line)
	}
}

// newLocker returns a Locker in a namespace of the test.
func newLocker(t testing.TB, addrs []string, cfg zkstore.Config, name string, lock lockrt.Config) *lockrt.Locker {
	t.Helper()
	lock.Node, lock.Logger, lock.Namespace = name, slog.New(slog.DiscardHandler), t.Name()
	locks, err := lockrt.New(zkstore.New(addrs, cfg), lock)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		if err := locks.Close(ctx); err != nil {
			t.Logf("close %s: %v", name, err)
		}
	})
	return locks
}

// root is the node of the test's namespace.
func root(t testing.TB) string { return "/lockgen/~" + strings.ReplaceAll(t.Name(), "/", "%2F") }

// client looks at ZooKeeper past the store.
func client(t testing.TB, addrs []string) *zk.Conn {
	t.Helper()
	conn, events, err := zk.Connect(addrs, 10*time.Second, zk.WithLogger(quiet{}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		conn.Close()
		for range events { // until its goroutines are gone
		}
	})
	return conn
}

type quiet struct{}

func (quiet) Printf(string, ...any) {}

// left returns what is below the locks of the test, and below what they kept.
func left(t testing.TB, conn *zk.Conn) (paths []string) {
	t.Helper()
	if _, err := conn.Sync(root(t)); err != nil {
		t.Fatal(err)
	}
	keys, _, err := conn.Children(root(t) + "/l")
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range keys {
		lock := root(t) + "/l/" + key
		names, _, err := conn.Children(lock)
		if err != nil && err != zk.ErrNoNode {
			t.Fatal(err)
		}
		for _, name := range names {
			paths = append(paths, lock+"/"+name)
		}
	}
	names, _, err := conn.Children(root(t) + "/k")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		paths = append(paths, root(t)+"/k/"+name)
	}
	return paths
}

func mustBeEmpty(t testing.TB, conn *zk.Conn) {
	t.Helper()
	var last []string
	eventually(t, "nothing is left in ZooKeeper", func() bool {
		if last = left(t, conn); len(last) > 0 {
			time.Sleep(50 * time.Millisecond)
		}
		return len(last) == 0
	})
}

// clientRace is what the race detector says of the client when it connects again.
const clientRace = "the client reads its lastZxid at a reconnect while an answer may write it"

// A thousand connections are cut under requests, at any moment. Nothing that a caller gave up, or does not know of, is
// left, although the session of ZooKeeper lives on.
func TestStore_cutConnections(t *testing.T) {
	if testenv.WithoutRaceDetector(t, clientRace) {
		return
	}
	e := one(t)
	n := newNode(t, e.Addrs(), config(patient), "a", lockrt.Config{LocalHandoffs: -1})
	conn := client(t, e.Addrs())
	release(t, acquire(t, n.locks, "warm", lockrt.Options{TTL: long, Wait: time.Minute}))
	sessions, _, err := conn.Children(root(t) + "/s")
	if err != nil || len(sessions) != 1 {
		t.Fatalf("the sessions are %q, %v", sessions, err)
	}
	var working sync.WaitGroup
	var served, failed atomic.Int64
	over := make(chan struct{})
	for i := range 6 {
		working.Go(func() {
			for j := 0; ; j++ {
				select {
				case <-over:
					return
				default:
				}
				ctx, cancel := context.WithTimeout(context.Background(), time.Duration(1+(i*7+j*13)%40)*time.Millisecond)
				lease, err := n.locks.Acquire(ctx, fmt.Sprint("k", j%3), lockrt.Options{
					TTL: long, Wait: []time.Duration{0, time.Minute}[j%2],
				})
				if err == nil {
					_ = lease.Release(context.Background())
					served.Add(1)
				} else {
					failed.Add(1)
				}
				cancel()
			}
		})
	}
	const cuts = 1000
	line := n.lines[0]
	for i := range cuts {
		was := line.Accepted()
		if i%3 == 0 {
			line.Swallow() // what is answered until the cut is lost
			time.Sleep(time.Millisecond)
		}
		line.Cut()
		eventually(t, "the client is connected again", func() bool { return line.Accepted() > was })
		if had := served.Load(); i%20 == 0 {
			eventually(t, "somebody gets a lock", func() bool { return served.Load() > had })
		}
	}
	close(over)
	working.Wait()
	mustBeEmpty(t, conn)
	now, _, err := conn.Children(root(t) + "/s")
	if err != nil || len(now) != 1 || now[0] != sessions[0] {
		t.Errorf("the sessions are %q, and were %q (%v): it is no wonder that nothing is left", now, sessions, err)
	}
	t.Logf("%d were served, %d gave up", served.Load(), failed.Load())
	if served.Load() < 10 || failed.Load() < 10 {
		t.Error("so few prove nothing")
	}
}

// A connection that is cut, or silent for less than the session lasts, costs no lock.
func TestStore_disconnected(t *testing.T) {
	e := one(t)
	n := newNode(t, e.Addrs(), config(time.Minute), "a", lockrt.Config{})
	held := acquire(t, n.locks, "k", lockrt.Options{TTL: 30 * time.Second})
	for range 5 {
		n.each((*testenv.Proxy).Cut)
		eventually(t, "the lease is checked", func() bool { return held.Check(t.Context()) == nil })
	}
	n.each((*testenv.Proxy).Silence)
	time.Sleep(2 * tick)
	n.each((*testenv.Proxy).Resume)
	if err := held.Err(); err != nil {
		t.Errorf("after a silence: %v", err)
	}
	eventually(t, "the lease is checked", func() bool { return held.Check(t.Context()) == nil })
	release(t, held)
}

// The servers forget a process that is silent for too long. All its locks are lost, and its waiters join again.
func TestStore_sessionExpired(t *testing.T) {
	e := one(t)
	conn := client(t, e.Addrs())
	n := newNode(t, e.Addrs(), config(dying), "a", lockrt.Config{})
	b := newLocker(t, e.Addrs(), config(patient), "b", lockrt.Config{})
	blocker := acquire(t, b, "blocked", lockrt.Options{TTL: long})
	var held []*lockrt.Lease
	for i := range 3 {
		held = append(held, acquire(t, n.locks, fmt.Sprint("k", i), lockrt.Options{TTL: long}))
	}
	waiter := waits(t, n.locks, "blocked")
	sessions := func() int {
		all, _, err := conn.Children(root(t) + "/s")
		if err != nil {
			t.Fatal(err)
		}
		return len(all)
	}
	if n := sessions(); n != 2 {
		t.Fatalf("%d sessions, want those of a and b", n)
	}
	n.each((*testenv.Proxy).Silence)
	eventually(t, "the servers forget the session", func() bool { return sessions() == 1 })
	for i, lease := range held {
		if err := lease.Err(); !errors.Is(err, lockrt.ErrLost) {
			t.Errorf("lease %d is believed in when others can have the lock: %v", i, err)
		}
	}
	var taken []*lockrt.Lease
	for i, lease := range held {
		next := acquire(t, b, fmt.Sprint("k", i), lockrt.Options{TTL: long})
		if next.Fence() <= lease.Fence() {
			t.Errorf("fence %d after %d", next.Fence(), lease.Fence())
		}
		taken = append(taken, next)
	}
	n.each((*testenv.Proxy).Resume)
	n.each((*testenv.Proxy).Cut)
	for i, lease := range held {
		if err := lease.Release(t.Context()); !errors.Is(err, lockrt.ErrLost) {
			t.Errorf("release of lease %d: %v, want ErrLost", i, err)
		}
	}
	for _, lease := range taken {
		if err := lease.Check(t.Context()); err != nil {
			t.Errorf("a lease of the next holder: %v", err)
		}
		release(t, lease)
	}
	eventually(t, "the waiter is in the queue again", func() bool { return len(waiters(t, b, "blocked")) == 1 })
	release(t, blocker)
	release(t, <-waiter)
	mustBeEmpty(t, conn)
}

// The servers end a session, and say so: all its leases are lost at once, long before their time.
func TestStore_expiredIsToldAtOnce(t *testing.T) {
	e := one(t)
	conn := client(t, e.Addrs())
	n := newNode(t, e.Addrs(), config(dying), "a", lockrt.Config{})
	one := acquire(t, n.locks, "one", lockrt.Options{TTL: long})
	release(t, one)
	n.each((*testenv.Proxy).Silence)
	eventually(t, "the servers forget the session", func() bool {
		all, _, err := conn.Children(root(t) + "/s")
		return err == nil && len(all) == 0
	})
	n.each((*testenv.Proxy).Resume)
	// The first answers are of the old session, or of a new one.
	eventually(t, "a lock can be had again", func() bool {
		lease, err := n.locks.TryAcquire(t.Context(), "one", lockrt.Options{TTL: long})
		return err == nil && lease.Release(t.Context()) == nil
	})
	mustBeEmpty(t, conn)
}

// Answers are lost with their connections: what nobody knows of is given back.
func TestStore_answersLost(t *testing.T) {
	e := one(t)
	n := newNode(t, e.Addrs(), config(patient), "a", lockrt.Config{})
	b := newLocker(t, e.Addrs(), config(patient), "b", lockrt.Config{})
	release(t, acquire(t, n.locks, "warm", lockrt.Options{TTL: long}))
	for i := range 5 {
		key := fmt.Sprint("k", i)
		n.each((*testenv.Proxy).Swallow)
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		_, err := n.locks.Acquire(ctx, key, lockrt.Options{TTL: long, Wait: time.Minute})
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, lockrt.ErrBusy) {
			t.Fatalf("the error is %v, want context.DeadlineExceeded and not ErrBusy", err)
		}
		n.each((*testenv.Proxy).Cut)
		release(t, acquire(t, b, key, lockrt.Options{TTL: long, Wait: time.Minute}))
	}
}

// An answer is lost, and the caller waits on: the request finds what it made, and makes no second one.
func TestStore_lostAnswerIsFound(t *testing.T) {
	e := one(t)
	n := newNode(t, e.Addrs(), config(patient), "a", lockrt.Config{})
	conn := client(t, e.Addrs())
	release(t, acquire(t, n.locks, "warm", lockrt.Options{TTL: long}))
	for range 5 {
		n.each((*testenv.Proxy).Swallow)
		done := make(chan *lockrt.Lease, 1)
		go func() {
			lease, err := n.locks.Acquire(context.Background(), "warm", lockrt.Options{TTL: long, Wait: time.Minute})
			if err != nil {
				t.Error(err)
			}
			done <- lease
		}()
		eventually(t, "the contender is there", func() bool { return len(left(t, conn)) > 0 })
		n.each((*testenv.Proxy).Cut)
		lease := <-done
		if all := left(t, conn); len(all) != 1 {
			t.Errorf("the contenders are %q", all)
		}
		release(t, lease)
	}
	mustBeEmpty(t, conn)
}

// A store that is silent is not a lock that is busy, and no call waits for it for ever.
func TestStore_silence(t *testing.T) {
	e := one(t)
	n := newNode(t, e.Addrs(), config(dying), "a", lockrt.Config{})
	held := acquire(t, n.locks, "held", lockrt.Options{TTL: time.Second})
	n.each((*testenv.Proxy).Silence)
	var calling sync.WaitGroup
	for what, call := range map[string]func() error{
		"try": func() error {
			_, err := n.locks.TryAcquire(t.Context(), "k", lockrt.Options{TTL: long})
			return err
		},
		"wait": func() error {
			_, err := n.locks.Acquire(context.Background(), "k2", lockrt.Options{TTL: long, Wait: lockrt.Forever})
			return err
		},
		"list": func() error {
			_, err := n.locks.List(t.Context(), "")
			return err
		},
		"break": func() error { return n.locks.Break(t.Context(), "held", "test") },
	} {
		calling.Go(func() {
			began := time.Now()
			err := call()
			if took := time.Since(began); took > 20*time.Second {
				t.Errorf("%s took %s", what, took)
			}
			if err == nil || errors.Is(err, lockrt.ErrBusy) || errors.Is(err, context.DeadlineExceeded) ||
				errors.Is(err, context.Canceled) {
				t.Errorf("%s: %v, want an error that is neither ErrBusy nor of a context", what, err)
			}
		})
	}
	calling.Wait()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := n.locks.Acquire(ctx, "k3", lockrt.Options{TTL: long, Wait: time.Minute})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("with an ended context: %v", err)
	}
	if err := held.Err(); !errors.Is(err, lockrt.ErrLost) {
		t.Errorf("the held lease is believed in: %v", err)
	}
	n.each((*testenv.Proxy).Resume)
	n.each((*testenv.Proxy).Cut)
	release(t, acquire(t, n.locks, "k", lockrt.Options{TTL: long, Wait: time.Minute}))
}
