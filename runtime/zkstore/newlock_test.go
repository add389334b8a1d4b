package zkstore

import (
	"errors"
	"fmt"
	"strings"
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

// A request makes the node of a lock and gives up. The node is deleted also if it comes to be after that.
func TestNewLock_madeLate(t *testing.T) {
	s, _ := openAt(t, OneServer(t).Addrs()[0])
	l, err := s.link(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	made := newLock{s: s, path: s.space.lock("k"), made: true}
	made.leave()
	testsync.Eventually(t, "it is deleted, as far as it is there", s.dropped)
	if _, err := made.creation(l)(l.conn); err != nil {
		t.Fatal(err)
	}
	testsync.Eventually(t, "it is deleted again", s.dropped)
	if stat, err := l.stat(t.Context(), made.path); err != nil || stat != nil {
		t.Errorf("the node is there: %+v, %v", stat, err)
	}
}

// Close waits for the deletion of nodes that nobody joined. Nobody else deletes them.
func TestNewLock_close(t *testing.T) {
	s, _ := openAt(t, OneServer(t).Addrs()[0])
	l, err := s.link(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var all []*newLock
	for i := range 2 * janitors {
		made := &newLock{s: s, path: s.space.lock(fmt.Sprint("k", i))}
		if err := made.make(t.Context(), l); err != nil {
			t.Fatal(err)
		}
		all = append(all, made)
	}
	for _, made := range all {
		made.leave()
	}
	for range 2 { // the second one waits for the end of the session
		if err := s.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
	names, _, err := look(t).Children(s.space.locks())
	if err != nil || len(names) > 0 {
		t.Errorf("%d nodes of %d are left, error %v", len(names), len(all), err)
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
	for i := range 10 {
		req := lockrt.Request{Key: fmt.Sprint("k", i), ID: fmt.Sprint("id", i), TTL: time.Second}
		if _, err := s.Acquire(t.Context(), req); !errors.Is(err, zk.ErrNoAuth) {
			t.Errorf("the error is %v", err)
		}
	}
	testsync.Eventually(t, "nothing is to be done", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.chores.Len()+s.busyJanitors+s.drops == 0
	})
}

// Close says what it leaves behind.
func TestNewLock_close_silence(t *testing.T) {
	s, line := openAt(t, OneServer(t).Addrs()[0])
	l, err := s.link(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	made := newLock{s: s, path: s.space.lock("k")}
	if err := made.make(t.Context(), l); err != nil {
		t.Fatal(err)
	}
	line.Silence()
	made.leave()
	for err == nil { // the first call does not wait
		err = s.Close(t.Context())
	}
	if !strings.Contains(err.Error(), "empty nodes of locks stay") || strings.Contains(err.Error(), "places") {
		t.Errorf("Close says: %v", err)
	}
}
