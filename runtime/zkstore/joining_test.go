package zkstore

import (
	"testing"
	"time"

	"github.com/lockgen/lockgen/internal/testsync"
	lockrt "github.com/lockgen/lockgen/runtime"
)

// What an earlier request without an answer may have made is sought while the next one of the same ID has its contender,
// and its caller has not taken it yet. It would be granted, and gone.
func TestSession_seek_sparesWhoIsJoining(t *testing.T) {
	s, _ := openAt(t, OneServer(t).Addrs()[0])
	l, err := s.link(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	req := lockrt.Request{Key: "k", ID: "id", TTL: time.Second, Wait: time.Minute}
	sought := func() {
		t.Helper()
		s.seek(l, req.Key, req.ID, nil)
		testsync.Eventually(t, "its chore was tried", func() bool {
			s.mu.Lock()
			defer s.mu.Unlock()
			if s.busyJanitors > 0 || s.leaving == 0 {
				return s.leaving == 0
			}
			c, _ := s.chores.First()
			return c != nil && c.backoff > 0
		})
	}
	mustStand := func(p *place, when string) {
		t.Helper()
		if stat, err := l.stat(t.Context(), p.path); err != nil || stat == nil {
			t.Errorf("%s its contender is gone: %v", when, err)
		}
	}
	w := s.enlist(req.ID, func(error) {})
	p, _, err := s.join(t.Context(), l, req)
	if err != nil {
		t.Fatal(err)
	}
	sought()
	mustStand(p, "when a waiter has joined")
	s.delist(req.ID, w)

	s.mu.Lock()
	s.places[req.ID] = p
	s.mu.Unlock()
	kept := s.pickUp(req.ID)
	sought()
	mustStand(p, "when a waiter takes over its place")
	s.putDown(kept)
	testsync.Eventually(t, "nothing is left", func() bool {
		stat, err := l.stat(t.Context(), p.path)
		return err == nil && stat == nil
	})
}
