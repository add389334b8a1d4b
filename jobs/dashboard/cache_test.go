package dashboard

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockgen/lockgen/jobs"
)

// TestCache_oneAsks: many look at once, the store is asked once.
func TestCache_oneAsks(t *testing.T) {
	f := busyFake()
	f.block = make(chan struct{})
	h := f.serve(Config{})
	var looking sync.WaitGroup
	for range 20 {
		looking.Go(func() {
			if w := get(h, "jobs"); w.Code != 200 || !strings.Contains(w.Body.String(), "report") {
				t.Errorf("%d\n%s", w.Code, w.Body)
			}
		})
	}
	for f.count("status") == 0 {
		time.Sleep(time.Millisecond)
	}
	close(f.block)
	looking.Wait()
	// One that came late may have found the answer too old on a machine that stands still for a second.
	if n := f.count("status"); n > 2 {
		t.Errorf("asked %d times", n)
	}
}

// An answer that took long is used for long, so that a slow store is not kept busy by those who look.
func TestCache_slowStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		c := cache{fetch: func(context.Context) *state {
			asked++
			time.Sleep(3 * time.Second)
			return &state{}
		}}
		look := func() {
			if _, err := c.get(t.Context()); err != nil {
				t.Error(err)
			}
		}
		look()
		for range 11 {
			time.Sleep(time.Second)
			look()
		}
		if asked != 1 {
			t.Errorf("asked %d times within 11 s after an answer that took 3 s", asked)
		}
		time.Sleep(2 * time.Second)
		if look(); asked != 2 {
			t.Errorf("asked %d times, want again after 12 s", asked)
		}
	})
}

// What was asked for before something was changed is not shown after it.
func TestCache_forget_inFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked, answer := 0, make(chan struct{})
		c := cache{fetch: func(context.Context) *state {
			asked++
			<-answer
			return &state{}
		}}
		go c.get(t.Context())
		synctest.Wait()
		c.forget()
		close(answer)
		synctest.Wait()
		if _, err := c.get(t.Context()); err != nil || asked != 2 {
			t.Errorf("asked %d times, %v; want again after the change", asked, err)
		}
	})
}

// Others wait for the answer, so it does not end with the one who asked.
func TestCache_askerLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		leave := make(chan struct{})
		c := cache{fetch: func(ctx context.Context) *state {
			<-leave
			return &state{jobsErr: ctx.Err()}
		}}
		ctx, cancel := context.WithCancel(t.Context())
		go c.get(ctx)
		synctest.Wait()
		cancel()
		close(leave)
		if s, err := c.get(t.Context()); err != nil || s.jobsErr != nil {
			t.Errorf("%v, %v", s.jobsErr, err)
		}
	})
}

// Pages that are made at the same time share what the store said, and change nothing in it.
func TestHandler_pagesShareAState(t *testing.T) {
	h := (&fake{nodes: []jobs.Node{{Name: "node-1", Heartbeat: noon}}}).serve(Config{})
	var looking sync.WaitGroup
	for i := range 20 {
		looking.Go(func() {
			if w := get(h, []string{"", "jobs"}[i%2]); w.Code != 200 {
				t.Errorf("status %d", w.Code)
			}
		})
	}
	looking.Wait()
}
