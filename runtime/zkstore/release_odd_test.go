package zkstore

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/lockgen/lockgen/internal/pace"
	"github.com/lockgen/lockgen/internal/testsync"
	lockrt "github.com/lockgen/lockgen/runtime"
)

// stall has the janitors of a session busy until the returned function is called.
func stall(s *session) (goOn func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.busyJanitors += janitors
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.busyJanitors -= janitors
		pace.Wake(s.wakeClean)
	}
}

// idle waits until a session has no chore that is due.
func idle(t *testing.T, s *session) {
	t.Helper()
	testsync.Eventually(t, "its chores are done", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.busyJanitors > 0 || s.chores.Len() == 0 {
			return s.busyJanitors == 0
		}
		_, at := s.chores.First()
		return time.Until(at) > time.Minute
	})
}

// mustBeBusy checks that a lock is taken.
func mustBeBusy(t *testing.T, s *session, key, what string) {
	t.Helper()
	id := "busy " + key
	_, err := s.Acquire(t.Context(), lockrt.Request{Key: key, ID: id, TTL: time.Minute})
	if !errors.Is(err, lockrt.ErrBusy) {
		t.Errorf("%s: somebody else gets the lock: %v", what, err)
	}
	if err == nil {
		mustRelease(t, s, key, id)
	}
}

// The request of a release does not arrive. Somebody breaks the lease by force and takes the lock. The repeated release finds
// nothing, and that is not its own work.
func TestRelease_forcedBreakBefore(t *testing.T) {
	addr := OneServer(t).Addrs()[0]
	for _, keep := range []time.Duration{0, time.Hour} {
		t.Run(fmt.Sprint(keep), func(t *testing.T) {
			s, line := openAt(t, addr)
			other, _ := openAt(t, addr)
			mustTake(t, other, "other", "other")
			grant := mustTake(t, s, "k", "a")
			line.Silence()
			released := make(chan error, 1)
			go func() { released <- s.Release(context.Background(), lockrt.Release{Key: "k", ID: "a", Keep: keep}) }()
			testsync.Eventually(t, "it is being released", func() bool {
				s.mu.Lock()
				defer s.mu.Unlock()
				return s.releasing > 0
			})
			broken := lockrt.Breaking{Key: "k", ID: "a", Fence: lockrt.FenceOf(grant.Epoch), Force: true, Reason: "test"}
			if err := other.Break(t.Context(), broken); err != nil {
				t.Fatal(err)
			}
			mustTake(t, other, "k", "b")
			line.Cut()
			line.Resume()
			if err := <-released; !errors.Is(err, lockrt.ErrLost) {
				t.Errorf("it is released: %v, want ErrLost", err)
			}
			mustRelease(t, other, "k", "b")
		})
	}
}

// A search for what a request may have made meets a release with MinHold, and the connection is cut under that.
func TestMinHold_sought(t *testing.T) {
	addr := OneServer(t).Addrs()[0]
	s, line := openAt(t, addr)
	other, _ := openAt(t, addr)
	mustTake(t, s, "k", "a")
	s.mu.Lock()
	l := s.leases["a"].l
	s.mu.Unlock()
	cuts := 6
	var cut func()
	cut = func() {
		line.Cut()
		if cuts--; cuts > 0 {
			line.On(s.space.keeps(), cut)
		}
	}
	line.On(s.space.keeps(), func() {
		s.seek(l, "k", "a", nil)
		cut()
	})
	if err := s.Release(t.Context(), lockrt.Release{Key: "k", ID: "a", Keep: time.Hour}); err != nil {
		t.Error(err)
	}
	mustBeBusy(t, other, "k", "kept")
	idle(t, s)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.weight != 0 || len(s.joining) != 0 {
		t.Errorf("nothing is held, and it weighs %d, with %d that join", s.weight, len(s.joining))
	}
}

// A release with MinHold has no answer, and goes on later than another one that keeps the lock for longer.
func TestMinHold_secondIsLonger(t *testing.T) {
	addr := OneServer(t).Addrs()[0]
	s, line := openAt(t, addr)
	other, _ := openAt(t, addr)
	mustTake(t, s, "k", "a")
	goOn := stall(s)
	line.Silence()
	short, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	const first = 3 * time.Second
	if err := s.Release(short, lockrt.Release{Key: "k", ID: "a", Keep: first}); err == nil {
		t.Fatal("it had an answer")
	}
	began := time.Now()
	line.Cut()
	line.Resume()
	if err := s.Release(t.Context(), lockrt.Release{Key: "k", ID: "a", Keep: time.Hour}); err != nil {
		t.Fatal(err)
	}
	goOn()
	idle(t, s) // until what the first has to do is done
	time.Sleep(time.Until(began.Add(first)))
	idle(t, s)
	mustBeBusy(t, other, "k", "kept for an hour")
}

// A release with MinHold is done and its answer lost, and the servers are silent until that is over.
func TestMinHold_overInSilence(t *testing.T) {
	s, line := openAt(t, OneServer(t).Addrs()[0])
	conn := look(t)
	mustTake(t, s, "k", "a")
	line.Swallow()
	if err := s.Release(t.Context(), lockrt.Release{Key: "k", ID: "a", Keep: time.Second}); err == nil {
		t.Fatal("it had an answer")
	}
	testsync.Eventually(t, "what goes on of it is under way", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.busyJanitors > 0
	})
	line.Cut()
	testsync.Eventually(t, "what was kept has gone", func() bool {
		kept, _, err := conn.Children(s.space.keeps())
		if err != nil {
			t.Fatal(err)
		}
		names, _, _ := conn.Children(s.space.lock("k"))
		return len(kept)+len(names) == 0
	})
}

// A release with MinHold is done and its answer lost. What it has kept is over, and somebody else has the lock, when there are
// answers again.
func TestMinHold_overAndTaken(t *testing.T) {
	addr := OneServer(t).Addrs()[0]
	s, line := openAt(t, addr)
	other, _ := openAt(t, addr)
	mustTake(t, s, "k", "a")
	line.Swallow()
	released := make(chan error, 1)
	go func() {
		released <- s.Release(context.Background(), lockrt.Release{Key: "k", ID: "a", Keep: 300 * time.Millisecond})
	}()
	mustTake(t, other, "k", "b")
	line.Cut()
	if err := <-released; err != nil {
		t.Errorf("it was kept for as long as it was to be: %v", err)
	}
	mustRelease(t, other, "k", "b")
}

// Searches for what earlier requests have made wait for no lock that cannot be kept.
func TestMinHold_soughtAndRefused(t *testing.T) {
	s, _ := openAt(t, OneServer(t).Addrs()[0])
	conn := look(t)
	mustTake(t, s, "first", "first")
	mustRelease(t, s, "first", "first")
	if _, err := conn.SetACL(s.space.keeps(), zk.WorldACL(zk.PermRead|zk.PermWrite|zk.PermAdmin), -1); err != nil {
		t.Fatal(err)
	}
	s.mu.Lock()
	l := s.present
	s.mu.Unlock()
	for i := range maxLeaving {
		key, id := fmt.Sprint("k", i), fmt.Sprint("id", i)
		mustTake(t, s, key, id)
		under := make(chan result[[]zk.MultiResponse])
		s.seek(l, key, id, under)
		if err := s.Release(t.Context(), lockrt.Release{Key: key, ID: id, Keep: time.Hour}); err == nil {
			t.Fatal("it is kept")
		}
		close(under)
	}
	mustTake(t, s, "free", "free") // which has room when few are sought
	mustRelease(t, s, "free", "free")
	if _, err := conn.SetACL(s.space.keeps(), zk.WorldACL(zk.PermAll), -1); err != nil {
		t.Fatal(err)
	}
	testsync.Eventually(t, "all are kept, and none is sought", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return len(s.staying)+s.leaving+s.weight == 0
	})
}

// The node for what MinHold keeps is deleted by hand, and again when it was made anew. The lock is kept, or goes on.
func TestMinHold_itsNodeDeletedTwice(t *testing.T) {
	addr := OneServer(t).Addrs()[0]
	s, line := openAt(t, addr)
	other, _ := openAt(t, addr)
	conn := look(t)
	mustTake(t, s, "k", "a")
	times := 2
	var drop func()
	drop = func() {
		if err := conn.Delete(s.space.keeps(), -1); err != nil {
			t.Error(err)
		}
		if times--; times > 0 {
			line.On(s.space.kept("k", "a"), drop)
		}
	}
	line.On(s.space.kept("k", "a"), drop)
	if err := s.Release(t.Context(), lockrt.Release{Key: "k", ID: "a", Keep: 300 * time.Millisecond}); errors.Is(err, lockrt.ErrLost) {
		t.Errorf("it is not lost: %v", err)
	}
	mustTake(t, other, "k", "b")
	mustRelease(t, other, "k", "b")
}

// A session closes while what MinHold keeps has had no answer. There are answers in a moment, and the lock is kept.
func TestMinHold_closedBeforeItIsKept(t *testing.T) {
	s, line := openAt(t, OneServer(t).Addrs()[0])
	conn := look(t)
	mustTake(t, s, "k", "a")
	line.Silence()
	short, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if err := s.Release(short, lockrt.Release{Key: "k", ID: "a", Keep: time.Hour}); err == nil {
		t.Fatal("it had an answer")
	}
	if err := s.Close(t.Context()); err != nil {
		t.Error(err)
	}
	line.Cut()
	line.Resume()
	testsync.Eventually(t, "it is kept", func() bool {
		there, _, err := conn.Exists(s.space.kept("k", "a"))
		if err != nil {
			t.Fatal(err)
		}
		return there
	})
}

// A lease that has ended, whose deletion waits, is released with MinHold. What Release says is true.
func TestMinHold_ofWhatHasEnded(t *testing.T) {
	addr := OneServer(t).Addrs()[0]
	breaks := func(force bool) func(*testing.T, *session, *session, lockrt.Grant) {
		return func(t *testing.T, s, other *session, grant lockrt.Grant) {
			broken := lockrt.Breaking{Key: "k", ID: "a", Fence: lockrt.FenceOf(grant.Epoch), Reason: "test", Force: force}
			if err := other.Break(t.Context(), broken); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, end := range map[string]func(t *testing.T, s, other *session, grant lockrt.Grant){
		"run out": func(t *testing.T, s, _ *session, _ lockrt.Grant) {
			s.mu.Lock()
			h := s.leases["a"]
			h.until = time.Now()
			s.ends.Set(h, h.until)
			s.mu.Unlock()
			s.endDue()
		},
		"broken": breaks(false),
		"forced": breaks(true),
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := openAt(t, addr)
			other, _ := openAt(t, addr)
			mustTake(t, other, "other", "other")
			grant := mustTake(t, s, "k", "a")
			goOn := stall(s)
			end(t, s, other, grant)
			err := s.Release(t.Context(), lockrt.Release{Key: "k", ID: "a", Keep: time.Hour})
			goOn()
			idle(t, s)
			if err == nil {
				mustBeBusy(t, other, "k", "Release says that it is kept")
			} else if !errors.Is(err, lockrt.ErrLost) {
				t.Error(err)
			} else {
				mustTake(t, other, "k", "b")
			}
		})
	}
}
