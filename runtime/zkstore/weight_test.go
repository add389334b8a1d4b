package zkstore

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/lockgen/lockgen/internal/testsync"
	lockrt "github.com/lockgen/lockgen/runtime"
)

// Servers refuse what ends locks, so that their contenders stay when they are released. All that a session has there fits
// into one change.
func TestSession_weightOfWhatStays(t *testing.T) {
	for name, keep := range map[string]time.Duration{"MinHold is refused": time.Hour, "deletions are refused": 0} {
		t.Run(name, func(t *testing.T) {
			s, _ := openAt(t, OneServer(t).Addrs()[0])
			conn := look(t)
			mustTake(t, s, "first", "first")
			mustRelease(t, s, "first", "first")
			refuse := func(path string, rights int32) {
				if _, err := conn.SetACL(path, zk.WorldACL(rights), -1); err != nil {
					t.Fatal(err)
				}
			}
			if keep > 0 {
				refuse(s.space.keeps(), zk.PermRead|zk.PermWrite|zk.PermAdmin)
			}
			bytes, full := 0, false
			for i := 0; i < 300 && !full; i++ {
				key, id := fmt.Sprint(strings.Repeat("k", 4000), i), fmt.Sprint("id", i)
				_, err := s.Acquire(t.Context(), lockrt.Request{Key: key, ID: id, TTL: time.Minute, Wait: time.Minute})
				if full = err != nil; full {
					if !strings.Contains(err.Error(), "use another Locker") {
						t.Error(err)
					}
					break
				}
				if keep == 0 {
					refuse(s.space.lock(key), zk.PermRead|zk.PermWrite|zk.PermCreate|zk.PermAdmin)
				}
				if err := s.Release(t.Context(), lockrt.Release{Key: key, ID: id, Keep: keep}); err == nil {
					t.Fatal("it was released")
				}
				names, _, err := conn.Children(s.space.lock(key))
				if err != nil || len(names) != 1 {
					t.Fatal(names, err)
				}
				bytes += len(s.space.lock(key)) + 1 + len(names[0])
			}
			if !full || bytes > mostWeight {
				t.Errorf("its contenders take %d bytes, and there is room for more: %t", bytes, !full)
			}
		})
	}
}

// Leases run out together, and a request that deletes them has no answer: it does not arrive, and one of them was deleted by
// hand, or it is done. Few requests delete them, however long the way is, and nothing is left to count.
func TestSession_manyRunOut(t *testing.T) {
	for _, done := range []bool{false, true} {
		t.Run(fmt.Sprint(done), func(t *testing.T) {
			s, line := openAt(t, OneServer(t).Addrs()[0])
			conn := look(t)
			for i := range checkChunk + 1 {
				mustTake(t, s, fmt.Sprint("k", i), fmt.Sprint("id", i))
			}
			s.mu.Lock()
			path := s.leases["id0"].path
			s.mu.Unlock()
			if done {
				line.Swallow()
			} else if err := conn.Delete(path, -1); err != nil {
				t.Fatal(err)
			} else {
				line.Silence()
			}
			s.mu.Lock()
			weight := s.weight
			for _, h := range s.leases {
				h.until = time.Now()
				s.ends.Set(h, h.until)
			}
			s.mu.Unlock()
			s.endDue()
			s.mu.Lock()
			if s.leaving > 2 || s.weight != weight {
				t.Errorf("%d requests are to delete %d leases, which weigh %d of %d", s.leaving, checkChunk+1, s.weight, weight)
			}
			s.mu.Unlock()
			if done {
				testsync.Eventually(t, "one request is done", func() bool {
					there, _, err := conn.Exists(path)
					return err == nil && !there
				})
			}
			line.Cut()
			line.Resume()
			testsync.Eventually(t, "they are deleted", func() bool {
				s.mu.Lock()
				defer s.mu.Unlock()
				return s.leaving == 0 && s.weight == 0
			})
			for i := range checkChunk + 1 {
				if names, _, _ := conn.Children(s.space.lock(fmt.Sprint("k", i))); len(names) > 0 {
					t.Errorf("%d: %q are left", i, names)
				}
			}
		})
	}
}

// One of many contenders that are deleted together may not be. Nothing but that one is counted until it may.
func TestSession_manyRunOut_oneIsRefused(t *testing.T) {
	s, _ := openAt(t, OneServer(t).Addrs()[0])
	conn := look(t)
	for i := range checkChunk {
		mustTake(t, s, fmt.Sprint("k", i), fmt.Sprint("id", i))
	}
	rights := func(all int32) {
		if _, err := conn.SetACL(s.space.lock("k0"), zk.WorldACL(all), -1); err != nil {
			t.Fatal(err)
		}
	}
	rights(zk.PermRead | zk.PermWrite | zk.PermCreate | zk.PermAdmin)
	s.mu.Lock()
	stays := s.leases["id0"].weight()
	for _, h := range s.leases {
		h.until = time.Now()
		s.ends.Set(h, h.until)
	}
	s.mu.Unlock()
	s.endDue()
	weighs := func(want int) func() bool {
		return func() bool {
			s.mu.Lock()
			defer s.mu.Unlock()
			return s.weight == want
		}
	}
	testsync.Eventually(t, "all but one are deleted", weighs(stays))
	rights(zk.PermAll)
	testsync.Eventually(t, "that is, too", weighs(0))
}
