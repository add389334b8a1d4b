package zkstore

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/lockgen/lockgen/internal/testsync"
	lockrt "github.com/lockgen/lockgen/runtime"
)

// dropped reports whether no node is to be deleted any more.
func (s *session) dropped() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.drops == 0
}

// A request makes the node of a lock and gives up. It is deleted also if it comes to be after that, or not made.
func TestNewLock_madeLate(t *testing.T) {
	s, line := openAt(t, OneServer(t).Addrs()[0])
	l, err := s.link(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	line.Slow(10 * time.Millisecond)
	for i := range 30 {
		made := newLock{s: s, path: s.space.lock(fmt.Sprint("k", i))}
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Duration(i)*time.Millisecond, func() { cancel(errors.New("its own reason")) })
		_ = made.make(ctx, l)
		made.leave()
		cancel(nil)
	}
	late := newLock{s: s, path: s.space.lock("late")}
	late.leave()
	if _, err := late.creation(l)(l.conn); err == nil {
		t.Error("a node is made for a request that is over")
	}
	testsync.Eventually(t, "they are deleted, as far as they are there", s.dropped)
	mustHaveNoLock(t, s)
}

func mustHaveNoLock(t *testing.T, s *session) {
	t.Helper()
	names, _, err := look(t).Children(s.space.locks())
	if err != nil || len(names) > 0 {
		t.Errorf("%d nodes of locks are left, such as %q; error %v", len(names), names[:min(len(names), 1)], err)
	}
}

// What another process has made is not deleted by who found it there.
func TestNewLock_leave_others(t *testing.T) {
	s, _ := openAt(t, OneServer(t).Addrs()[0])
	if _, err := s.link(t.Context()); err != nil {
		t.Fatal(err)
	}
	found := newLock{s: s, path: s.space.lock("k")}
	found.begin()
	found.leave()
	conn := look(t)
	if _, err := conn.CreateContainer(found.path, nil, zk.FlagContainer, zk.WorldACL(zk.PermAll)); err != nil {
		t.Fatal(err)
	}
	found.end(zk.ErrNodeExists)
	if there, _, err := conn.Exists(found.path); !there || err != nil || !s.dropped() {
		t.Errorf("the node is there: %t; error %v", there, err)
	}
	if err := conn.Delete(found.path, -1); err != nil {
		t.Error(err)
	}
}

// Close waits for the deletion of nodes that nobody joined, for as long as one is deleted now and then. Nobody else deletes
// them.
func TestNewLock_close(t *testing.T) {
	s, line := openAt(t, OneServer(t).Addrs()[0])
	l, err := s.link(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var all []*newLock
	for i := range 13 * janitors {
		made := &newLock{s: s, path: s.space.lock(fmt.Sprint("k", i))}
		if err := made.make(t.Context(), l); err != nil {
			t.Fatal(err)
		}
		all = append(all, made)
	}
	line.Slow(lingerTime / 24) // each way: they take longer than that together
	for _, made := range all {
		made.leave()
	}
	if err := s.Close(t.Context()); err != nil {
		t.Error(err)
	}
	<-s.disconnected
	mustHaveNoLock(t, s)
}

// So it does for those that are just being made.
func TestNewLock_close_whileMade(t *testing.T) {
	for round := range 20 {
		s, _ := openAt(t, OneServer(t).Addrs()[0])
		mustTake(t, s, "warm", "warm")
		mustRelease(t, s, "warm", "warm")
		var callers sync.WaitGroup
		for i := range 2 * janitors {
			callers.Go(func() {
				id := fmt.Sprint(round, "-", i)
				req := lockrt.Request{Key: id, ID: id, TTL: time.Minute, Wait: time.Minute}
				if _, err := s.Acquire(context.Background(), req); err == nil {
					_ = s.Release(context.Background(), lockrt.Release{Key: id, ID: id})
				}
			})
		}
		time.Sleep(rand.N(20 * time.Millisecond))
		var err error
		for range 2 { // the second one waits for the end of the session
			err = s.Close(t.Context())
		}
		callers.Wait()
		if err != nil && strings.Contains(err.Error(), "may stay") {
			t.Skipf("the server is slow: %v", err)
		}
		if err != nil {
			t.Errorf("round %d: %v", round, err)
		}
		conn, never := look(t), 0
		names, _, err := conn.Children(s.space.locks())
		for _, name := range names {
			if _, stat, _ := conn.Exists(s.space.locks() + "/" + name); stat != nil && stat.Cversion == 0 {
				never++
			}
		}
		if err != nil || never > 0 {
			t.Fatalf("round %d: %d locks that nobody had are left; error %v", round, never, err)
		}
	}
}

// Servers that let nobody make a lock, or delete one, are not asked again and again for each caller: no empty node is in
// anybody's way.
func TestNewLock_refused(t *testing.T) {
	s, _ := openAt(t, OneServer(t).Addrs()[0])
	l, err := s.link(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	made := newLock{s: s, path: s.space.lock("before")}
	if err := made.make(t.Context(), l); err != nil {
		t.Fatal(err)
	}
	conn := look(t)
	if _, err := conn.SetACL(s.space.locks(), zk.WorldACL(zk.PermRead|zk.PermAdmin), -1); err != nil {
		t.Fatal(err)
	}
	made.leave()
	for i := range maxLeaving + 1 {
		req := lockrt.Request{Key: fmt.Sprint("k", i), ID: fmt.Sprint("id", i), TTL: time.Second}
		if _, err := s.Acquire(t.Context(), req); !errors.Is(err, zk.ErrNoAuth) {
			t.Errorf("the error is %v", err)
		}
	}
	testsync.Eventually(t, "nothing is to be done", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.chores.Len()+s.busyJanitors+s.drops == 0 && !s.crowded
	})
}

// Close says what it may leave behind, as when a call to make a node does not end.
func TestNewLock_close_says(t *testing.T) {
	s, _ := openAt(t, OneServer(t).Addrs()[0])
	if _, err := s.link(t.Context()); err != nil {
		t.Fatal(err)
	}
	made := newLock{s: s, path: s.space.lock("k")}
	made.begin()
	made.leave()
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	err := s.Close(t.Context())
	if err == nil || !strings.Contains(err.Error(), "up to 1 empty nodes of locks may stay") || strings.Contains(err.Error(), "places") {
		t.Errorf("Close says: %v", err)
	}
}
