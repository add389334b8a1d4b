package combine_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockgen/lockgen/internal/combine"
)

type request struct {
	combine.Ticket
	sent int // how often
}

// server answers when it is told to, and keeps the sizes of the batches.
type server struct {
	answer chan struct{}
	mu     sync.Mutex
	sizes  []int
}

func newCombiner() (*combine.Combiner[*request], *server) {
	s := &server{answer: make(chan struct{})}
	return &combine.Combiner[*request]{
		Alone: 2, Lanes: 1, Most: 3, Time: time.Minute, Start: func(f func()) { go f() },
		Send: func(ctx context.Context, batch []*request) bool {
			s.mu.Lock()
			s.sizes = append(s.sizes, len(batch))
			for _, r := range batch {
				r.sent++
			}
			s.mu.Unlock()
			select {
			case <-s.answer:
				return true
			case <-ctx.Done():
				return false
			}
		},
	}, s
}

func do(t *testing.T, c *combine.Combiner[*request], n int) *sync.WaitGroup {
	var all sync.WaitGroup
	for range n {
		all.Go(func() {
			r := new(request)
			if err := c.Do(t.Context(), r); err != nil || r.sent != 1 {
				t.Errorf("the request was sent %d times, error %v", r.sent, err)
			}
		})
		synctest.Wait()
	}
	return &all
}

func TestCombiner_Do_gathers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s := newCombiner()
		all := do(t, c, 10) // two alone, one on the lane, seven wait
		if got := c.State(); got != (combine.State{InFlight: 3, Waiting: 7}) {
			t.Errorf("the state is %+v", got)
		}
		close(s.answer)
		all.Wait()
		c.Wait()
		want := []int{1, 1, 1, 3, 3, 1}
		for i, size := range s.sizes {
			if len(s.sizes) != len(want) || size != want[i] {
				t.Fatalf("the batches have %v requests, want %v", s.sizes, want)
			}
		}
		if got := c.State(); got.InFlight != 0 {
			t.Errorf("%d are in flight at the end", got.InFlight)
		}
	})
}

// Who leaves before its batch is taken is not sent; who leaves later is told to Left when its batch is over.
func TestCombiner_Do_callerLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s := newCombiner()
		var left []*request
		c.Left = func(r *request) { left = append(left, r) }
		all := do(t, c, 2)
		ctx, cancel := context.WithCancel(t.Context())
		sent, unsent := new(request), new(request)
		for _, r := range []*request{sent, unsent} {
			go func() {
				if err := c.Do(ctx, r); !errors.Is(err, context.Canceled) {
					t.Errorf("got %v, want that of the context", err)
				}
			}()
			synctest.Wait()
		}
		cancel()
		synctest.Wait()
		close(s.answer)
		all.Wait()
		c.Wait()
		if sent.sent != 1 || unsent.sent != 0 || len(left) != 1 || left[0] != sent {
			t.Errorf("sent %d and %d times, want 1 and 0; %d left while they were sent, want 1", sent.sent, unsent.sent, len(left))
		}
	})
}

// Where all answers are late no other lanes open because of that: more would go along with the next batch.
func TestCombiner_Do_lateAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s := newCombiner()
		late := 2 * time.Second
		c.Stall, c.Late = time.Second, func() time.Duration { return late }
		all := do(t, c, 3) // two alone, one on the lane
		time.Sleep(late)
		more := do(t, c, 2)
		if got := c.State(); got != (combine.State{InFlight: 3, Waiting: 2}) {
			t.Errorf("the state is %+v, want that two wait", got)
		}
		time.Sleep(1)
		last := do(t, c, 1)
		if got := c.State(); got != (combine.State{InFlight: 4}) {
			t.Errorf("the state is %+v, want that those go who have waited for longer than that", got)
		}
		close(s.answer)
		all.Wait()
		more.Wait()
		last.Wait()
		c.Wait()
	})
}

// Lanes that hang do not keep others waiting for longer than Stall.
func TestCombiner_Join_stalled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s := newCombiner()
		c.Stall = time.Second
		all := do(t, c, 4)
		time.Sleep(c.Stall + 1)
		if got := c.State(); got != (combine.State{InFlight: 3, Waiting: 1, Stalled: true}) {
			t.Errorf("the state is %+v", got)
		}
		more := do(t, c, 1)
		if got := c.State(); got != (combine.State{InFlight: 4}) {
			t.Errorf("one more has come: the state is %+v", got)
		}
		close(s.answer)
		all.Wait()
		more.Wait()
	})
}

func TestCombiner_Leave_patience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := newCombiner()
		r := new(request)
		if left := c.Leave(r, time.Second); left != 0 {
			t.Errorf("no answer has come, and %s are left", left)
		}
		c.Enter()
		c.Exit(new(request), true)
		time.Sleep(400 * time.Millisecond)
		if left := c.Leave(r, time.Second); left != 600*time.Millisecond {
			t.Errorf("the last answer came 400 ms ago, and %s are left, want 600 ms", left)
		}
		if left := c.Leave(r, 0); left != 0 {
			t.Errorf("without patience %s are left", left)
		}
	})
}

// A Send that waits before it sends leaves those out whose callers have left meanwhile, and they know it.
func TestCombiner_Going(t *testing.T) {
	for _, leaves := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			c := &combine.Combiner[*request]{Lanes: 1, Most: 3, Time: time.Minute, Start: func(f func()) { go f() }}
			may, answer := make(chan struct{}), make(chan struct{})
			c.Send = func(_ context.Context, batch []*request) bool {
				<-may
				for _, r := range c.Going(batch) {
					r.sent++
				}
				<-answer
				return true
			}
			ctx, cancel := context.WithCancel(t.Context())
			r := new(request)
			go func() {
				if err := c.Do(ctx, r); !errors.Is(err, context.Canceled) || c.Sent(r) == leaves {
					t.Errorf("leaves %t: the error is %v, and it was sent: %t", leaves, err, c.Sent(r))
				}
			}()
			synctest.Wait()
			if leaves {
				cancel()
				synctest.Wait()
			}
			close(may)
			synctest.Wait()
			cancel()
			close(answer)
			c.Wait()
			if sent := r.sent == 1; sent == leaves {
				t.Errorf("leaves %t: it was sent %d times", leaves, r.sent)
			}
		})
	}
}

// A caller that panics, as by a method of its context, does not stay in flight.
func TestCombiner_Do_panic(t *testing.T) {
	c, _ := newCombiner()
	c.Send = func(context.Context, []*request) bool { panic("a method of the caller's context") }
	for range 10 {
		func() {
			defer func() { _ = recover() }()
			_ = c.Do(t.Context(), new(request))
		}()
	}
	if now := c.State(); now.InFlight != 0 {
		t.Errorf("%d are in flight", now.InFlight)
	}
	c.Wait()
}
