package dashboard

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockgen/lockgen/jobs"
	lockrt "github.com/lockgen/lockgen/runtime"
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

// hanging is a lagging cluster of which some questions hang.
type hanging struct {
	*lagging
	hangs []string // parts of the names of these questions, guarded by lagging.mu
}

func (h *hanging) hang(parts ...string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.hangs = parts
}

func (h *hanging) ask(ctx context.Context, what string) error {
	h.mu.Lock()
	hangs := slices.ContainsFunc(h.hangs, func(part string) bool { return strings.Contains(what, part) })
	h.mu.Unlock()
	if hangs {
		return wait(ctx, time.Hour)
	}
	return nil
}

func (h *hanging) Waiting(ctx context.Context, limit int) ([]jobs.OneOff, error) {
	if err := h.ask(ctx, "waiting"); err != nil {
		return nil, err
	}
	return h.lagging.Waiting(ctx, limit)
}

func (h *hanging) Nodes(ctx context.Context) ([]jobs.Node, error) {
	if err := h.ask(ctx, "nodes"); err != nil {
		return nil, err
	}
	return h.lagging.Nodes(ctx)
}

func (h *hanging) Holder(ctx context.Context, key string) (lockrt.LockInfo, error) {
	if err := h.ask(ctx, "holder"); err != nil {
		return lockrt.LockInfo{}, err
	}
	return h.lagging.Holder(ctx, key)
}

func newHanging(authorize time.Duration) (*hanging, *dashboard) {
	l, _ := newLagging(0)
	h := &hanging{lagging: l}
	d := newDashboard(h, h, Config{Logger: slog.New(slog.DiscardHandler), Authorize: func(*http.Request) (User, error) {
		time.Sleep(authorize)
		return User{"ada", RoleOperator}, nil
	}}.withDefaults())
	d.upcoming = func(jobs.Info, time.Time, int) []jobs.Upcoming { return nil }
	return h, d
}

// loadUntilRight loads a page again and again, until it shows all of the present.
func loadUntilRight(t *testing.T, d *dashboard, page string, within time.Duration) {
	t.Helper()
	began := time.Now()
	for {
		w := get(d, page)
		if body := w.Body.String(); w.Code == 200 && !strings.Contains(body, "The store is slow") && !strings.Contains(body, "Who holds the locks is") {
			return
		}
		if time.Since(began) > within {
			t.Fatalf("%s after all is answered at once, %q is not right", time.Since(began), page)
		}
		time.Sleep(2 * time.Second)
	}
}

// A question that had no answer is asked again some time, also if pages never have as much time as it was given.
func TestHandler_slowAuthorizeAfterHang(t *testing.T) {
	for _, authorize := range []time.Duration{0, 600 * time.Millisecond, 2 * time.Second, 4600 * time.Millisecond, 4900 * time.Millisecond} {
		for _, hangs := range []string{"waiting", ""} {
			for _, known := range []bool{true, false} {
				t.Run(fmt.Sprint(authorize, hangs, known), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						h, d := newHanging(authorize)
						if known {
							loadUntilRight(t, d, "one-off", 20*time.Second)
							time.Sleep(3 * time.Second)
						}
						h.hang(hangs)
						for range 10 {
							get(d, "one-off")
							time.Sleep(700 * time.Millisecond)
						}
						h.hang()
						loadUntilRight(t, d, "one-off", time.Minute)
					})
				})
			}
		}
	}
}

// Pages that need some time for the jobs show the holders again after the store of the locks hung.
func TestHandler_holdersAfterHang(t *testing.T) {
	for _, page := range []string{"jobs", "job?name=index", "run?id=index@1"} {
		for _, known := range []bool{true, false} {
			t.Run(fmt.Sprint(page, known), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					h, d := newHanging(0)
					h.set(600 * time.Millisecond)
					h.quick = []string{"holder alive", "holder job:index", "holder job:report", "holder job:carts"}
					if known {
						get(d, page)
						time.Sleep(10 * time.Second)
					}
					h.hang("holder")
					for range 6 {
						get(d, page)
						time.Sleep(2 * time.Second)
					}
					h.hang()
					loadUntilRight(t, d, page, time.Minute)
				})
			})
		}
	}
}

// stepped is a cluster whose clock is set by a step.
type stepped struct {
	*fake
	step time.Duration
}

func (s *stepped) Now() time.Time { return time.Now().Add(s.step) }

// How long the store was away, and for how long pages say so, does not hang on its clock, which may be set meanwhile.
func TestHandler_clockSetInOutage(t *testing.T) {
	for _, step := range []time.Duration{-time.Hour, time.Hour} {
		for _, later := range []bool{true, false} { // after the return
			t.Run(fmt.Sprint(step, later), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := &stepped{fake: busyFake()}
					d := newDashboard(s, s, Config{Logger: slog.New(slog.DiscardHandler)})
					get(d, "one-off")
					time.Sleep(2 * time.Second)
					s.down = errDown
					get(d, "one-off")
					time.Sleep(5 * time.Second)
					s.down = nil
					if later {
						get(d, "one-off")
					}
					s.step = step
					expect(t, get(d, "one-off"), 200, "The store answers again", "after 5 s without an answer")
					time.Sleep(backFor)
					if w := get(d, "one-off"); w.Code != 200 || strings.Contains(w.Body.String(), "answers again") {
						t.Errorf("%d, %s later:\n%s", w.Code, backFor, w.Body)
					}
				})
			})
		}
	}
}

// A question that crashes rests as one without an answer does, however many ask.
func TestKnown_get_crashRests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked, crashes := 0, true
		k := &known{now: time.Now, probe: func(context.Context) error { return nil }}
		fetch := func(ctx context.Context) (any, error) {
			asked++
			if err := wait(ctx, time.Second); err != nil || !crashes {
				return 1, err
			}
			panic("a fault")
		}
		var looking sync.WaitGroup
		for range 20 {
			looking.Go(func() {
				if a := k.get(t.Context(), "q", fetch); !errors.As(a.failed, new(*crash)) {
					t.Errorf("%+v", a)
				}
			})
		}
		looking.Wait()
		time.Sleep(3 * time.Second)
		if a := k.get(t.Context(), "q", fetch); asked != 1 || !errors.As(a.failed, new(*crash)) {
			t.Errorf("%+v, asked %d times within 4 s", a, asked)
		}
		if a := k.get(t.Context(), "another", (&store{}).fetch); a.failed != nil {
			t.Errorf("another question: %v", a.failed)
		}
		crashes = false
		time.Sleep(time.Second)
		if a := k.get(t.Context(), "q", fetch); a.failed != nil || !a.back.IsZero() {
			t.Errorf("%+v", a)
		}
	})
}

// A small question that crashes is as one without an answer. It says nothing of the store, also after a silence.
func TestKnown_get_smallQuestionCrashes(t *testing.T) {
	for _, silent := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			down, crashes, told := error(nil), !silent, 0
			k := &known{now: time.Now, fault: func(error) { told++ }, probe: func(context.Context) error {
				if crashes {
					panic("a fault")
				}
				return down
			}}
			fetch := func(context.Context) (any, error) { return 1, down }
			k.get(t.Context(), "q", fetch)
			time.Sleep(2 * time.Second)
			down = errDown
			for range 3 {
				if a := k.get(t.Context(), "q", fetch); !errors.Is(a.failed, errDown) {
					t.Errorf("%+v", a)
				}
				time.Sleep(2 * time.Second)
			}
			down, crashes = nil, true
			began := time.Now()
			for k.get(t.Context(), "q", fetch).failed != nil {
				if time.Since(began) > 20*time.Second {
					t.Fatal("the store answers, and pages fail")
				}
				time.Sleep(2 * time.Second)
			}
			if told == 0 {
				t.Error("nobody hears of the crash")
			}
		})
	}
}

// What is forgotten to make room does not lose its rest, while there is other to forget.
func TestKnown_find_keepsRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &store{takes: time.Second}
		k := s.known()
		began := time.Now()
		for range 100 {
			k.get(t.Context(), "slow", s.fetch)
			for i := range mostKnown + 50 {
				k.get(t.Context(), fmt.Sprint(i), (&store{}).fetch)
				time.Sleep(time.Millisecond)
			}
		}
		busy, total := time.Duration(s.asked)*s.takes, time.Since(began)
		if busy > total/5+s.takes {
			t.Errorf("asked for %s of %s", busy, total)
		}
	})
}

// More questions than are kept may be asked at a time. After that no more are kept.
func TestKnown_find_boundedAfterMany(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := (&store{}).known()
		var asking sync.WaitGroup
		for i := range 2 * mostKnown {
			asking.Go(func() {
				a := k.get(t.Context(), fmt.Sprint(i), func(ctx context.Context) (any, error) { return i, wait(ctx, time.Second) })
				if a.failed != nil || a.value != i {
					t.Errorf("%d: %+v", i, a)
				}
			})
		}
		asking.Wait()
		time.Sleep(5 * time.Second)
		k.get(t.Context(), "another", (&store{}).fetch)
		if len(k.answers) > mostKnown {
			t.Errorf("%d answers are kept", len(k.answers))
		}
	})
}
