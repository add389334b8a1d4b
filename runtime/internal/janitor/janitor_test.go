package janitor_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockgen/lockgen/runtime/internal/janitor"
)

var errAway = errors.New("away")

// server takes cancels and remembers them.
type server struct {
	*janitor.Janitor[string]
	mu    sync.Mutex // guards what follows
	calls []string   // "id seconds", from the begin
	began time.Time
	err   error
	later time.Duration
	lag   time.Duration
	block chan struct{} // what a cancel waits for, if it is not nil
}

// run gives a server and its janitor to f, inside a bubble. The server's clock shows the seconds since the begin in µs.
func run(t *testing.T, f func(s *server)) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{began: time.Now()}
		s.Janitor = janitor.New(janitor.Config[string]{
			Cancel: s.cancel, Most: 3,
			When:  func(_ string, micros int64) time.Time { return s.began.Add(time.Duration(micros) * time.Microsecond) },
			Lag:   func() time.Duration { return s.lag },
			Retry: func(err error) bool { return errors.Is(err, errAway) },
		})
		ctx, end := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			s.Run(ctx)
		}()
		f(s)
		end()
		<-done
	})
}

func (s *server) cancel(_ context.Context, batch []janitor.Lease[string]) []janitor.Answer {
	s.mu.Lock()
	for _, l := range batch {
		s.calls = append(s.calls, fmt.Sprint(l.ID, " ", int(time.Since(s.began).Seconds())))
	}
	answer := janitor.Answer{Clock: s.micros(0), Err: s.err, Later: s.later}
	block := s.block
	s.mu.Unlock()
	if block != nil {
		<-block
	}
	return slices.Repeat([]janitor.Answer{answer}, len(batch))
}

// micros is what the server's clock shows in a while.
func (s *server) micros(in time.Duration) int64 {
	return time.Since(s.began).Microseconds() + in.Microseconds()
}

func (s *server) fails(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
}

func (s *server) want(t *testing.T, left int, calls ...string) {
	t.Helper()
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Equal(s.calls, calls) {
		t.Errorf("cancelled were %q, want %q", s.calls, calls)
	}
	if n := s.Known(); n != left {
		t.Errorf("%d leases are remembered, want %d", n, left)
	}
}

func TestJanitor_Abandon(t *testing.T) {
	run(t, func(s *server) {
		s.Abandon("a", "k", time.Minute)
		s.want(t, 0, "a 0")
		time.Sleep(time.Hour)
		s.want(t, 0, "a 0")
	})
}

// Something is in the way of one lease: it is tried again in a while, and the next one has not to wait for that.
func TestJanitor_Abandon_inItsWay(t *testing.T) {
	run(t, func(s *server) {
		blocked := func(later time.Duration) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.later = later
		}
		blocked(2 * time.Second)
		s.Abandon("a", "k", 3*time.Second)
		s.want(t, 1, "a 0")
		blocked(0)
		s.Abandon("b", "l", time.Minute)
		s.want(t, 1, "a 0", "b 0")
		blocked(2 * time.Second)
		time.Sleep(2 * time.Second)
		s.want(t, 1, "a 0", "b 0", "a 2")
		time.Sleep(2 * time.Second) // and then its lease is over
		s.want(t, 0, "a 0", "b 0", "a 2", "a 4")
		time.Sleep(time.Hour)
		s.want(t, 0, "a 0", "b 0", "a 2", "a 4")
	})
}

// The request may act for 5 s more: the lease is cancelled at once, and once more after that.
func TestJanitor_Abandon_afterDoubt(t *testing.T) {
	run(t, func(s *server) {
		s.Doubt("a", "k", s.micros(5*time.Second))
		s.Abandon("a", "k", time.Minute)
		s.want(t, 1, "a 0")
		time.Sleep(6 * time.Second)
		s.want(t, 0, "a 0", "a 5")
	})
}

// A request that has begun in time may act for another minute: it is looked for until then, more and more rarely.
func TestJanitor_Abandon_withLag(t *testing.T) {
	run(t, func(s *server) {
		s.lag = time.Minute
		s.Doubt("a", "k", s.micros(5*time.Second))
		s.Abandon("a", "k", time.Minute)
		time.Sleep(65 * time.Second)
		synctest.Wait()
		s.mu.Lock()
		if n := len(s.calls); n < 10 || n > 40 {
			t.Errorf("it was looked for %d times: %q", n, s.calls)
		}
		last := s.calls[len(s.calls)-1]
		s.calls = nil
		s.mu.Unlock()
		if last < "a 50" {
			t.Errorf("the last look was %q", last)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		s.mu.Lock()
		defer s.mu.Unlock()
		if n := len(s.calls); n != 1 || s.Known() != 0 {
			t.Errorf("when the minute was over it was looked for %d times, and %d leases are remembered", n, s.Known())
		}
	})
}

func TestJanitor_Abandon_untilTheLeaseIsOver(t *testing.T) {
	run(t, func(s *server) {
		s.fails(errAway)
		s.Abandon("a", "k", 10*time.Second)
		time.Sleep(5 * time.Second)
		if synctest.Wait(); s.Known() != 1 {
			t.Error("it is forgotten before its lease is over")
		}
		time.Sleep(10 * time.Second)
		if synctest.Wait(); s.Known() != 0 {
			t.Error("it is remembered after its lease is over")
		}
		if n := len(s.calls); n < 8 || n > 20 {
			t.Errorf("it was tried %d times in 10 s", n)
		}
		s.fails(errors.New("no right"))
		s.Abandon("b", "k", time.Hour)
		time.Sleep(time.Minute)
		if synctest.Wait(); s.Known() != 0 {
			t.Error("it is tried again although that is of no use")
		}
	})
}

// A lease that somebody holds is not cancelled. Its doubt ends with it, or when the request has acted.
func TestJanitor_Doubt(t *testing.T) {
	run(t, func(s *server) {
		for _, id := range []string{"held", "answered", "ended"} {
			s.Doubt(id, "k", s.micros(5*time.Second))
		}
		s.Answered("answered")
		s.Brought("held")
		s.want(t, 2)
		s.Unwanted("ended")
		s.want(t, 2, "ended 0")
		time.Sleep(time.Minute)
		s.want(t, 0, "ended 0", "ended 5")
	})
}

func TestJanitor_AbandonAfter(t *testing.T) {
	run(t, func(s *server) {
		s.AbandonAfter("a", "k", time.Now().Add(10*time.Second), time.Minute)
		s.Brought("a")
		s.want(t, 1)
		time.Sleep(11 * time.Second)
		s.want(t, 0, "a 10")
	})
}

// What comes while a cancel is under way may have come after it.
func TestJanitor_Brought_whileCancelled(t *testing.T) {
	run(t, func(s *server) {
		s.block = make(chan struct{})
		s.Abandon("a", "k", time.Minute)
		synctest.Wait()
		s.Brought("a")
		close(s.block)
		s.want(t, 0, "a 0", "a 0")
	})
}

func TestJanitor_Rest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{began: time.Now()}
		s.Janitor = janitor.New(janitor.Config[string]{
			Cancel: s.cancel, Most: 3,
			When: func(string, int64) time.Time { return time.Now().Add(time.Minute) },
		})
		for i := range 5 {
			s.Abandon(fmt.Sprint("id", i), "k", time.Minute)
		}
		s.Doubt("held", "k", 1)
		s.AbandonAfter("kept", "k", time.Now().Add(time.Minute), time.Minute)
		if n := s.Left(); n != 6 {
			t.Errorf("%d are left, want 6", n)
		}
		s.Rest(t.Context(), time.Second)
		if synctest.Wait(); len(s.calls) != 5 || s.Left() != 0 {
			t.Errorf("%q were cancelled, and %d are left; want all but those that are held or kept", s.calls, s.Left())
		}
		s.fails(errAway)
		s.Abandon("a", "k", time.Minute)
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		if s.Rest(ctx, time.Second); s.Left() != 1 {
			t.Error("what could not be cancelled is not left")
		}
	})
}
