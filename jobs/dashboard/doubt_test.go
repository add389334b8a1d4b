package dashboard

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// lostFor is a store that loses what it is asked within a time, as a dead connection does, and otherwise answers at once.
func lostFor(start, end time.Time) (*known, func(context.Context) (any, error)) {
	lost := func(ctx context.Context) error {
		if now := time.Now(); !now.Before(start) && now.Before(end) {
			<-ctx.Done()
			return ctx.Err()
		}
		return nil
	}
	return &known{now: time.Now, probe: lost}, func(ctx context.Context) (any, error) { return 1, lost(ctx) }
}

// After a short time without a store, pages are right about as soon as after a long one.
func TestKnown_get_shortHang(t *testing.T) {
	for _, length := range []time.Duration{time.Second, 3 * time.Second, 4900 * time.Millisecond, 5500 * time.Millisecond, 7 * time.Second, 20 * time.Second,
		3 * time.Minute} {
		t.Run(length.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now().Add(2 * time.Second)
				end := start.Add(length)
				k, fetch := lostFor(start, end)
				k.get(t.Context(), "q", fetch)
				time.Sleep(2 * time.Second)
				for i := 0; k.get(t.Context(), "q", fetch).failed != nil; i++ {
					k.get(t.Context(), fmt.Sprint("another", i), fetch)
					time.Sleep(700 * time.Millisecond)
				}
				if back := time.Since(end); back > 8*time.Second {
					t.Errorf("the page knows of the return after %s", back)
				}
			})
		})
	}
}

// A question that has failed once while the store answers is asked again soon, and after that no more than others.
func TestKnown_get_askedAgainOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &store{takes: time.Hour}
		k := s.known()
		began := time.Now()
		for time.Since(began) < 11*time.Second {
			k.get(t.Context(), "q", s.fetch)
			time.Sleep(100 * time.Millisecond)
		}
		if s.asked != 2 {
			t.Errorf("asked %d times within 11 s, want once more soon after it had failed", s.asked)
		}
		for time.Since(began) < 49*time.Second {
			k.get(t.Context(), "q", s.fetch)
			time.Sleep(100 * time.Millisecond)
		}
		if s.asked != 2 {
			t.Errorf("asked %d times within 49 s, want a rest for the 10 s it has been asked", s.asked)
		}
	})
}

// The small question too is asked for a fifth of the time at most, and that a slow store answers it is enough meanwhile.
func TestKnown_get_smallQuestionRests(t *testing.T) {
	for _, takes := range []time.Duration{10 * time.Millisecond, 900 * time.Millisecond, 1500 * time.Millisecond, 4900 * time.Millisecond} {
		t.Run(takes.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var busy time.Duration
				k := &known{now: time.Now, probe: func(ctx context.Context) error {
					began := time.Now()
					defer func() { busy += time.Since(began) }()
					return wait(ctx, takes)
				}}
				fetch := func(ctx context.Context) (any, error) { return 1, wait(ctx, takes) }
				began := time.Now()
				for time.Since(began) < 5*time.Minute {
					if a := k.get(t.Context(), "q", fetch); a.failed != nil {
						t.Fatal(a.failed)
					}
					time.Sleep(2 * time.Second)
				}
				if total := time.Since(began); busy > total/5 {
					t.Errorf("it was asked for %s of %s", busy, total)
				}
			})
		})
	}
}

// A store that comes back slower than it was is found, also if a small question takes longer than one is given at first.
func TestKnown_get_backSlow(t *testing.T) {
	for _, before := range []time.Duration{0, 2 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			takes, down := before, false
			ask := func(ctx context.Context) error {
				if down {
					return errDown
				}
				return wait(ctx, takes)
			}
			k := &known{now: time.Now, probe: ask}
			fetch := func(ctx context.Context) (any, error) { return 1, ask(ctx) }
			k.get(t.Context(), "q", fetch)
			time.Sleep(2*time.Second + 4*before)
			down = true
			if a := k.get(t.Context(), "q", fetch); a.failed == nil {
				t.Fatal("it was answered")
			}
			time.Sleep(2 * time.Second)
			down, takes = false, 2*time.Second
			began := time.Now()
			for k.get(t.Context(), "q", fetch).failed != nil {
				time.Sleep(time.Second)
				if time.Since(began) > time.Minute {
					t.Fatalf("a store that took %s and takes 2 s is silent for ever", before)
				}
			}
		})
	}
}

// Nothing is asked for a request that has ended.
func TestKnown_get_ended(t *testing.T) {
	s := &store{}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if a := s.known().get(ctx, "q", s.fetch); a.failed == nil || s.asked > 0 || s.probed > 0 {
		t.Errorf("%+v; asked %d times", a, s.asked)
	}
}

// A question that was begun goes on after its request, until the time of the page is over.
func TestHandler_requestWithLessTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, d := newLagging(3 * time.Second)
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		d.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/jobs/one-off", nil).WithContext(ctx))
		began := time.Now()
		expect(t, get(d, "one-off"), 200, "welcome-42")
		if took := time.Since(began); took > 0 {
			t.Errorf("the next page waited %s", took)
		}
	})
}

// A question that has only what is left of a page is not told as a silence, and is not begun so late again.
func TestKnown_get_littleTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &store{takes: 3 * time.Second}
		k := s.known()
		with := func(left time.Duration) context.Context {
			return context.WithValue(t.Context(), pageEnd{}, time.Now().Add(left))
		}
		if a := k.get(with(2*time.Second), "q", s.fetch); !a.slow {
			t.Errorf("%+v", a)
		}
		time.Sleep(8 * time.Second)
		if a := k.get(with(time.Second), "q", s.fetch); !a.slow || s.asked != 1 {
			t.Errorf("%+v, asked %d times", a, s.asked)
		}
		if a := k.get(t.Context(), "q", s.fetch); a.failed != nil || s.asked != 2 || !a.back.IsZero() {
			t.Errorf("%+v, asked %d times", a, s.asked)
		}
	})
}

// A store is found to be silent, and not slow, also by pages that have used up some of their time before they ask.
func TestHandler_slowAuthorize(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, d := newLagging(10 * time.Millisecond)
		d.cfg.Authorize = func(*http.Request) (User, error) { time.Sleep(time.Second); return User{"ada", RoleViewer}, nil }
		expect(t, get(d, "one-off"), 200, "welcome-42")
		time.Sleep(5 * time.Second)
		expect(t, get(d, "one-off"), 200, "welcome-42")
		l.set(time.Hour)
		time.Sleep(5 * time.Second)
		get(d, "one-off")
		began := time.Now()
		expect(t, get(d, "one-off"), 503, "Unknown since", "did not answer in time", "Greyed below")
		if took := time.Since(began); took > 2*time.Second {
			t.Errorf("the page took %s", took)
		}
	})
}

// A page that failed in an outage and is opened hours after it does not say that the store was away for hours.
func TestHandler_openedHoursAfterOutage(t *testing.T) {
	for _, looks := range []bool{true, false} { // somebody does meanwhile
		synctest.Test(t, func(t *testing.T) {
			f := &slow{fake: busyFake()}
			d := f.serve()
			for _, page := range []string{"jobs", "one-off"} {
				expect(t, get(d, page), 200)
			}
			time.Sleep(2 * time.Second)
			f.down = errDown
			for _, page := range []string{"jobs", "one-off"} {
				expect(t, get(d, page), 503, "Unknown since")
			}
			time.Sleep(5 * time.Second)
			f.down = nil
			if looks {
				expect(t, get(d, "jobs"), 200, "The store answers again", "after 5 s without an answer")
				time.Sleep(10 * time.Second)
				expect(t, get(d, "runs"), 200, "The store answers again", "after 5 s without an answer")
			}
			time.Sleep(6 * time.Hour)
			if w := get(d, "one-off"); w.Code != 200 || strings.Contains(w.Body.String(), "answers again") {
				t.Errorf("%d, six hours after an outage of 5 s, somebody looks %t:\n%s", w.Code, looks, w.Body)
			}
		})
	}
}

// A page whose time ends while another asks the small question says since when nothing is known.
func TestHandler_endsDuringSmallQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &slow{fake: busyFake()}
		d := f.serve()
		defer time.Sleep(time.Minute)
		d.known.probe = func(ctx context.Context) error { return wait(ctx, 900*time.Millisecond) }
		go d.known.get(t.Context(), "other", func(context.Context) (any, error) { return nil, errDown })
		synctest.Wait() // there is doubt, and the small question is under way
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		w := httptest.NewRecorder()
		d.ServeHTTP(w, httptest.NewRequest("GET", "/jobs/one-off", nil).WithContext(ctx))
		if body := w.Body.String(); w.Code != 503 || strings.Contains(body, "since  UTC") || strings.Contains(body, `datetime="0001`) ||
			strings.Contains(body, `datetime=""`) {
			t.Errorf("%d\n%s", w.Code, body)
		}
		if a := d.known.get(ctx, "one-off", nil); a.since.IsZero() {
			t.Errorf("%+v", a)
		}
	})
}

// A question that was never answered is not known since it was asked, whatever was silent before.
func TestKnown_get_neverAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &store{down: errDown}
		k := s.known()
		k.get(t.Context(), "q", s.fetch)
		s.down = nil
		time.Sleep(time.Second)
		k.get(t.Context(), "q", s.fetch)
		time.Sleep(time.Hour)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if a := k.get(ctx, "another", s.fetch); !a.since.Equal(time.Now()) {
			t.Errorf("%s after an outage, a request that ends without an answer hears of none since %s", time.Hour, a.since)
		}
	})
}
