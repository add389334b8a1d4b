package zkstore

import (
	"fmt"
	"testing"

	"github.com/lockgen/lockgen/internal/testsync"
)

// A request makes the node of a lock and gives up. The node is deleted also if it comes to be after that.
func TestNewLock_madeLate(t *testing.T) {
	s, _ := openAt(t, OneServer(t).Addrs()[0])
	l, err := s.link(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	made := newLock{s: s, path: s.space.lock("k"), made: true}
	made.leave()
	dropped := func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.drops == 0
	}
	testsync.Eventually(t, "it is deleted, as far as it is there", dropped)
	if _, err := made.creation(l)(l.conn); err != nil {
		t.Fatal(err)
	}
	testsync.Eventually(t, "it is deleted again", dropped)
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
