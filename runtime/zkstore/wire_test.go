package zkstore_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lockgen/lockgen/internal/testenv"
	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/zkstore"
)

// What the requests of the client are.
const (
	opGetData = 4
	opSetAuth = 100
)

// tapped is a connection whose requests are looked at before they are written.
type tapped struct {
	net.Conn
	tap func(op uint32, request []byte) error
}

func (c tapped) Write(b []byte) (int, error) {
	if len(b) >= 12 {
		if err := c.tap(binary.BigEndian.Uint32(b[8:]), b); err != nil {
			_ = c.Conn.Close()
			return 0, err
		}
	}
	return c.Conn.Write(b)
}

// tapping lets tap see all requests.
func tapping(cfg zkstore.Config, tap func(op uint32, request []byte) error) zkstore.Config {
	cfg.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
		return tapped{conn, tap}, err
	}
	return cfg
}

// The line is cut right before the client says again who it is. The client would wait for ever, until its session is
// given up.
func TestStore_cutAtAuthentication(t *testing.T) {
	e := one(t)
	var break1, broken atomic.Bool
	cfg := tapping(config(patient), func(op uint32, _ []byte) error {
		if op == opSetAuth && break1.CompareAndSwap(true, false) {
			broken.Store(true)
			return errors.New("the line is cut")
		}
		return nil
	})
	cfg.Prefix, cfg.User, cfg.Password = "cut", "app", "secret"
	n := newNode(t, e.Addrs(), cfg, "a", lockrt.Config{})
	held := acquire(t, n.locks, "k", lockrt.Options{TTL: long})
	break1.Store(true)
	n.each((*testenv.Proxy).Cut)
	release(t, acquire(t, n.locks, "another", lockrt.Options{TTL: long, Wait: time.Minute}))
	if !broken.Load() {
		t.Error("the line was not cut")
	}
	release(t, held)
}

// listens runs a server that is none of ZooKeeper.
func listens(t *testing.T, serve func(net.Conn)) (addr string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			serve(conn)
			_ = conn.Close()
		}
	}()
	t.Cleanup(func() {
		_ = l.Close()
		<-done
	})
	return l.Addr().String()
}

// One of the servers takes connections and says nothing. A call finds the other one, however long a session is.
func TestStore_silentServerBesideAnother(t *testing.T) {
	t.Parallel()
	e := one(t)
	over := make(chan struct{})
	addr := listens(t, func(net.Conn) { <-over })
	t.Cleanup(func() { close(over) }) // before the server is waited for
	var all sync.WaitGroup
	for i := range 8 { // each begins with any of them
		locks := newLocker(t, append(e.Addrs(), addr), config(patient), fmt.Sprint(i), lockrt.Config{})
		all.Go(func() {
			if _, err := locks.TryAcquire(t.Context(), fmt.Sprint(i), lockrt.Options{TTL: long}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}

// Another server than that of ZooKeeper answers. Its first bytes are not taken for a length, for which the client would
// make room.
func TestOpen_anotherServer(t *testing.T) {
	t.Parallel()
	addr := listens(t, func(conn net.Conn) { _, _ = conn.Write([]byte("HTTP/1.1 400 Bad Request\r\n\r\n")) })
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := lockrt.Open(t.Context(), "zk://"+addr, lockrt.Config{})
	runtime.ReadMemStats(&after)
	says(t, err, "begin a session at "+addr, "not one of ZooKeeper")
	if made := (after.TotalAlloc - before.TotalAlloc) >> 20; made > 1000 {
		t.Errorf("it took %d MB", made)
	}
}

// A server refuses connections by closing them. The error says where, and for what reasons a server does that.
func TestOpen_serverThatCloses(t *testing.T) {
	t.Parallel()
	addr := listens(t, func(net.Conn) {})
	_, err := lockrt.Open(t.Context(), "zk://"+addr, lockrt.Config{})
	says(t, err, "begin a session at "+addr, "maxClientCnxns")
}

// Those who give up before a lock that is held for long leave one watch, and not one each: the client remembers them
// until that lock changes.
func TestStore_waiters_shareAWatch(t *testing.T) {
	e := one(t)
	var watches atomic.Int32
	lock := root(t) + "/l/k/"
	cfg := tapping(config(patient), func(op uint32, request []byte) error {
		if op == opGetData && request[len(request)-1] == 1 && strings.Contains(string(request), lock) {
			watches.Add(1)
		}
		return nil
	})
	a := newLocker(t, e.Addrs(), config(patient), "a", lockrt.Config{})
	b := newLocker(t, e.Addrs(), cfg, "b", lockrt.Config{LocalHandoffs: -1})
	held := acquire(t, a, "k", lockrt.Options{TTL: long})
	const times = 30
	for range times {
		before := watches.Load()
		ctx, cancel := context.WithCancel(t.Context())
		gaveUp := make(chan error)
		go func() {
			_, err := b.Acquire(ctx, "k", lockrt.Options{TTL: long, Wait: lockrt.Forever})
			gaveUp <- err
		}()
		eventually(t, "b waits, and watches", func() bool {
			info, err := a.Holder(t.Context(), "k")
			return err == nil && len(info.Waiters) > 0 && (before > 0 || watches.Load() > 0)
		})
		cancel()
		if err := <-gaveUp; !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		eventually(t, "b has left", func() bool {
			info, err := a.Holder(t.Context(), "k")
			return err == nil && len(info.Waiters) == 0
		})
	}
	if n := watches.Load(); n > times/6 { // two may set one at the same time
		t.Errorf("%d who gave up left %d watches, want 1", times, n)
	}
	got := make(chan error)
	go func() {
		lease, err := b.Acquire(t.Context(), "k", lockrt.Options{TTL: long, Wait: time.Minute})
		if err == nil {
			err = lease.Release(t.Context())
		}
		got <- err
	}()
	eventually(t, "b waits", func() bool {
		info, err := a.Holder(t.Context(), "k")
		return err == nil && len(info.Waiters) > 0
	})
	release(t, held) // the shared watch wakes it
	if err := <-got; err != nil {
		t.Error(err)
	}
}

// A Locker that no server answers has nobody to tell that it ends. The shortest of several times is measured, for busy
// machines.
func TestStore_Close_silentServer(t *testing.T) {
	over := make(chan struct{})
	addr := listens(t, func(net.Conn) { <-over })
	t.Cleanup(func() { close(over) }) // before the server is waited for
	shortest := time.Hour
	for i := range 5 {
		locks := newLocker(t, []string{addr}, config(patient), fmt.Sprint(i), lockrt.Config{})
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		_, err := locks.Acquire(ctx, "k", lockrt.Options{TTL: long})
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
		began := time.Now()
		if err := locks.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		shortest = min(shortest, time.Since(began))
	}
	if shortest > 700*time.Millisecond {
		t.Errorf("Close took %s at the least", shortest)
	}
}
