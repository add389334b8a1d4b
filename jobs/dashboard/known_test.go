package dashboard

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockgen/lockgen/jobs"
)

// TestKnown_get_oneAsks: many look at once, the store is asked once.
func TestKnown_get_oneAsks(t *testing.T) {
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
	for f.count("page") == 0 {
		time.Sleep(time.Millisecond)
	}
	close(f.block)
	looking.Wait()
	// One that came late may have found the answer too old on a machine that stands still for a second.
	if n := f.count("page"); n > 2 {
		t.Errorf("asked %d times", n)
	}
}

// store is a store that answers with a count, or not.
type store struct {
	asked, probed int
	down          error
	takes         time.Duration
}

func (s *store) known() *known {
	return &known{now: time.Now, probe: func(context.Context) error { s.probed++; return s.down }}
}

func (s *store) fetch(ctx context.Context) (any, error) {
	s.asked++
	select {
	case <-time.After(s.takes):
		return s.asked, s.down
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// An answer that took long is used for long, so that a slow store is not kept busy by those who look.
func TestKnown_get_slowStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &store{takes: 3 * time.Second}
		k := s.known()
		for range 12 {
			if a := k.get(t.Context(), "q", s.fetch); a.failed != nil || a.value != 1 {
				t.Errorf("%v, %v", a.value, a.failed)
			}
			time.Sleep(time.Second)
		}
		if s.asked != 1 {
			t.Errorf("asked %d times within 12 s after an answer that took 3 s", s.asked)
		}
		time.Sleep(time.Second)
		if k.get(t.Context(), "q", s.fetch); s.asked != 2 {
			t.Errorf("asked %d times, want again after 13 s", s.asked)
		}
	})
}

// What is used for long is not shown as the present while the store does not answer, whichever page has heard of that.
func TestKnown_get_silentMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &store{takes: 3 * time.Second}
		k := s.known()
		good := k.get(t.Context(), "q", s.fetch) // of use for 12 s
		time.Sleep(2 * time.Second)
		if a := k.get(t.Context(), "q", s.fetch); a.failed != nil || s.probed != 1 || s.asked != 1 {
			t.Errorf("%v, probed %d times, asked %d times; want a small question", a.failed, s.probed, s.asked)
		}
		s.takes, s.down = 0, errors.New("connection refused")
		k.get(t.Context(), "another", s.fetch)
		if a := k.get(t.Context(), "q", s.fetch); a.failed == nil || a.value != 1 || !a.since.Equal(good.asOf) {
			t.Errorf("%+v, want what was known and that it is of the past", a)
		}
		s.down = nil
		time.Sleep(failedFor)
		if a := k.get(t.Context(), "q", s.fetch); a.failed != nil || a.back.IsZero() || a.value != 3 {
			t.Errorf("after the outage: %+v", a)
		}
		time.Sleep(freshFor)
		s.down = errors.New("connection refused")
		if a := k.get(t.Context(), "q", s.fetch); a.failed == nil {
			t.Error("nobody has noticed that the store is silent")
		}
	})
}

// An outage keeps what was known, since when, and ends with a word about it.
func TestKnown_get_outage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &store{}
		k := s.known()
		good := k.get(t.Context(), "q", s.fetch)
		time.Sleep(2 * time.Second)
		s.down = errors.New("connection refused")
		for range 10 {
			a := k.get(t.Context(), "q", s.fetch)
			if a.failed == nil || a.value != 1 || !a.since.Equal(good.asOf) || !a.asOf.Equal(good.asOf) {
				t.Fatalf("while the store is away: %+v, want what was known at %s", a, good.asOf)
			}
			time.Sleep(time.Second)
		}
		if a := k.get(t.Context(), "another", s.fetch); a.failed == nil || !a.asOf.IsZero() {
			t.Errorf("what was never known is %+v", a)
		}
		if s.asked > 2 {
			t.Errorf("the store was asked for all of it %d times while a small question failed", s.asked)
		}
		s.down = nil
		time.Sleep(failedFor)
		if a := k.get(t.Context(), "q", s.fetch); a.failed != nil || a.back.IsZero() || a.away < 10*time.Second || a.away > 11*time.Second {
			t.Errorf("after the outage: %+v", a)
		}
	})
}

// A connection that is dead does not hide the return of the store for long.
func TestKnown_get_hangingStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &store{takes: time.Hour}
		hanging := true
		k := s.known()
		k.probe = func(ctx context.Context) error {
			if hanging {
				<-ctx.Done()
			}
			return ctx.Err()
		}
		k.get(t.Context(), "another", (&store{}).fetch)
		if a := k.get(t.Context(), "q", s.fetch); !errors.Is(a.failed, context.DeadlineExceeded) {
			t.Fatalf("%v", a.failed)
		}
		time.Sleep(4 * probeTimeout)
		began := time.Now()
		if k.get(t.Context(), "q", s.fetch); time.Since(began) > probeTimeout {
			t.Errorf("asked for %s", time.Since(began))
		}
		if began = time.Now(); k.get(t.Context(), "another", s.fetch).failed == nil || time.Since(began) > 0 {
			t.Errorf("another question waited %s, while the small one had failed", time.Since(began))
		}
		hanging, s.takes = false, 0
		time.Sleep(4 * probeTimeout)
		if a := k.get(t.Context(), "q", s.fetch); a.failed != nil {
			t.Errorf("%v after the small question was answered", a.failed)
		}
	})
}

// A question that always fails takes no more of the store's time than one that is answered, also if others are answered.
func TestKnown_get_failsForLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &store{takes: time.Hour}
		k := s.known()
		began := time.Now()
		for time.Since(began) < 50*storeTimeout {
			if a := k.get(t.Context(), "q", s.fetch); a.failed == nil {
				t.Fatal("it was answered")
			}
			time.Sleep(failedFor)
		}
		if s.asked > 10 {
			t.Errorf("asked %d times, each for %s, within %s", s.asked, storeTimeout, time.Since(began))
		}
		if a := k.get(t.Context(), "another", (&store{}).fetch); a.failed != nil {
			t.Errorf("another question: %v", a.failed)
		}
		s.takes = 0
		time.Sleep(4 * storeTimeout)
		if a := k.get(t.Context(), "q", s.fetch); a.failed != nil || !a.back.IsZero() {
			t.Errorf("%v; the store is said to have been silent for %s", a.failed, a.away)
		}
	})
}

// What was asked for before something was changed is not shown after it.
func TestKnown_forget_inFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &store{takes: time.Second}
		k := s.known()
		go k.get(t.Context(), "q", s.fetch)
		synctest.Wait()
		k.forget()
		if a := k.get(t.Context(), "q", s.fetch); a.value != 2 {
			t.Errorf("the answer is %v, want the one after the change", a.value)
		}
	})
}

// Others wait for the answer, so it does not end with the one who asked; who cannot wait gets what was known.
func TestKnown_get_leaving(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &store{takes: 4 * time.Second}
		k := s.known()
		ctx, cancel := context.WithCancel(t.Context())
		go k.get(ctx, "q", s.fetch)
		synctest.Wait()
		cancel()
		short, cancelShort := context.WithTimeout(t.Context(), time.Second)
		defer cancelShort()
		if a := k.get(short, "q", s.fetch); !errors.Is(a.failed, context.DeadlineExceeded) || !a.asOf.IsZero() {
			t.Errorf("who waits a second gets %+v", a)
		}
		if a := k.get(t.Context(), "q", s.fetch); a.failed != nil || s.asked != 1 {
			t.Errorf("%v, asked %d times", a.failed, s.asked)
		}
	})
}

// What is kept is bounded.
func TestKnown_find_bounded(t *testing.T) {
	s := &store{}
	k := s.known()
	for i := range 3 * mostKnown {
		k.get(t.Context(), fmt.Sprint(i), s.fetch)
	}
	if len(k.answers) > mostKnown {
		t.Errorf("%d answers are kept", len(k.answers))
	}
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

// A request ends while another one asks whether the store is there. That says nothing of the store.
func TestKnown_get_requestEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := func(context.Context) (any, error) { time.Sleep(600 * time.Millisecond); return "v", nil }
		k := &known{now: time.Now, probe: func(context.Context) error { time.Sleep(500 * time.Millisecond); return nil }}
		k.get(t.Context(), "q", slow)
		time.Sleep(1500 * time.Millisecond)
		go k.get(t.Context(), "q", slow)
		synctest.Wait()
		leaves, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		if a := k.get(leaves, "q", slow); a.failed == nil {
			t.Error("the request that has ended has an answer that nobody has asked for")
		}
		time.Sleep(time.Second)
		if a := k.get(t.Context(), "q", slow); a.failed != nil || !a.back.IsZero() {
			t.Errorf("another request hears of an outage: %v, over since %s after %s", a.failed, a.back, a.away)
		}
	})
}

// A store comes and goes, and one question hangs meanwhile. When all is well it is soon asked again, however long that was so.
func TestKnown_get_afterAStoreThatFlaps(t *testing.T) {
	for _, lasts := range []time.Duration{time.Minute, time.Hour} {
		t.Run(lasts.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, began := &store{takes: time.Hour}, time.Now()
				k := s.known()
				var busy time.Duration
				look := func() answer {
					s.down = nil
					if at := time.Since(began); at < lasts && at%(12*time.Second) >= 9*time.Second {
						s.down = errDown
					}
					if time.Since(began) > lasts+7*time.Second {
						s.takes = 0
					}
					a := k.get(t.Context(), "q", func(ctx context.Context) (any, error) {
						if s.down != nil {
							return nil, s.down
						}
						asked := time.Now()
						defer func() { busy += time.Since(asked) }()
						return s.fetch(ctx)
					})
					k.get(t.Context(), "other", func(context.Context) (any, error) { return 1, s.down })
					time.Sleep(time.Second / 2)
					return a
				}
				for time.Since(began) < lasts+12*time.Second {
					look()
				}
				if total := time.Since(began); busy > total/5+mostOwed {
					t.Errorf("the store was busy with it for %s of %s", busy, total)
				}
				for well := time.Now(); look().failed != nil; {
					if took := time.Since(well); took > 2*mostOwed {
						t.Fatalf("all is well for %s, and it is not asked again", took)
					}
				}
			})
		})
	}
}

// The store's clock is set back, and then it is slow or silent. What is shown is as old as it is.
func TestKnown_get_clockSetBackBefore(t *testing.T) {
	for name, probe := range map[string]error{"slow": nil, "silent": errDown} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, set := &store{}, time.Duration(0)
				k := s.known()
				k.now = func() time.Time { return time.Now().Add(set) }
				began := time.Now()
				k.get(t.Context(), "q", s.fetch)
				k.get(t.Context(), "other", s.fetch)
				set, s.takes = -time.Hour, time.Hour
				k.probe = func(context.Context) error { return probe }
				for range 10 {
					time.Sleep(2 * time.Second)
					a := k.get(t.Context(), "q", s.fetch)
					if want := began.Add(set); a.failed == nil || !a.asOf.Equal(want) || !a.since.Equal(want) {
						t.Errorf("after %s: as of %s, unknown since %s (%v); want %s", time.Since(began), a.asOf, a.since, a.failed, want)
					}
				}
			})
		})
	}
}

// One question hangs, or it is answered after nearly as long in turn. It takes a fifth of the time, but for what operators want
// to see when they have acted, and is soon asked again when all is well.
func TestKnown_get_paysForWhatWasAskedEarly(t *testing.T) {
	for name, takes := range map[string][]time.Duration{"hangs": {time.Hour}, "hangs and is slow in turn": {time.Hour, 4600 * time.Millisecond}} {
		for _, acts := range []bool{false, true} {
			t.Run(fmt.Sprint(name, acts), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := &store{}
					k := s.known()
					var busy time.Duration
					const lasts = time.Hour
					began, n := time.Now(), 0
					for time.Since(began) < lasts {
						k.get(t.Context(), "q", func(ctx context.Context) (any, error) {
							asked := time.Now()
							defer func() { busy += time.Since(asked) }()
							s.takes = takes[s.asked%len(takes)]
							return s.fetch(ctx)
						})
						if n++; acts && n%20 == 0 {
							k.forget()
						}
						time.Sleep(time.Second / 2)
					}
					if total := time.Since(began); !acts && busy > total/5+mostOwed {
						t.Errorf("the store was busy with it for %s of %s", busy, total)
					}
					for well := time.Now(); ; time.Sleep(time.Second / 2) {
						s.takes = 0
						if a := k.get(t.Context(), "q", s.fetch); a.failed == nil && time.Since(a.asked.local) < time.Second {
							break
						}
						if took := time.Since(well); took > 2*mostOwed+storeTimeout {
							t.Fatalf("all is well for %s, and it is not asked again", took)
						}
					}
				})
			})
		}
	}
}

// However much was asked early, half an hour later all of it is paid, and one failure is asked about again soon.
func TestKnown_get_oneFailureAfterActions(t *testing.T) {
	for _, inFlight := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			s := &store{takes: 2 * time.Second}
			k := s.known()
			look := func(d time.Duration) {
				for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
					k.get(t.Context(), "q", s.fetch)
				}
			}
			look(time.Minute)
			for range 60 {
				if inFlight {
					acted := time.AfterFunc(time.Second, k.forget)
					look(1900 * time.Millisecond)
					acted.Stop()
				} else {
					k.forget()
					look(5 * time.Second)
				}
			}
			look(30 * time.Minute)
			if owed := time.Until(k.answers["q"].rested); owed > 10*time.Second {
				t.Errorf("actions in flight %t: half an hour later it has to rest for %s", inFlight, owed)
			}
			for s.down = errDown; k.get(t.Context(), "q", s.fetch).failed == nil; {
				k.probe = func(context.Context) error { return nil }
				time.Sleep(50 * time.Millisecond)
			}
			s.down = nil
			for failed := time.Now(); k.get(t.Context(), "q", s.fetch).failed != nil; time.Sleep(50 * time.Millisecond) {
				if took := time.Since(failed); took > 15*time.Second {
					t.Fatalf("actions in flight %t: not asked again %s after one failure", inFlight, took)
				}
			}
		})
	}
}

// The process stands still while a question is under way. It is asked again soon, whatever came of it.
func TestKnown_get_afterAProcessThatStoodStill(t *testing.T) {
	for name, fails := range map[string]error{"answered": nil, "not answered": context.DeadlineExceeded, "crashed": errDown} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &store{}
				k := s.known()
				k.get(t.Context(), "q", s.fetch)
				time.Sleep(2 * time.Second)
				k.get(t.Context(), "q", func(context.Context) (any, error) {
					if time.Sleep(10 * time.Minute); fails == errDown {
						panic("broken")
					}
					return -1, fails
				})
				for began := time.Now(); ; time.Sleep(time.Second / 2) {
					if a := k.get(t.Context(), "q", s.fetch); a.failed == nil && time.Since(a.asked.local) < time.Minute {
						break
					}
					if took := time.Since(began); took > 30*time.Second {
						t.Fatalf("it is not asked again for %s", took)
					}
				}
			})
		})
	}
}
