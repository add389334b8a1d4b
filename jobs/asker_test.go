package jobs_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockgen/lockgen/internal/testsync"
	. "github.com/lockgen/lockgen/jobs"
	"github.com/lockgen/lockgen/jobs/jobstest"
)

// saysErrors is a store that answers starts with errors, always with the same ones.
type saysErrors struct {
	Store
	errs []error
	view []JobView
}

func (s *saysErrors) Start(context.Context, []Start) []error { return s.errs }

func (s *saysErrors) Look(context.Context, []string) (View, error) {
	return View{Jobs: s.view, Now: time.Now()}, nil
}

// heardAs is what a scheduler makes of errors of a store.
func heardAs(ctx context.Context, errs ...error) []error {
	return Bounded(&saysErrors{errs: errs}).Start(ctx, make([]Start, len(errs)))
}

type slowError struct{ takes time.Duration }

func (e slowError) Error() string { time.Sleep(e.takes); return "late text" }

// The errors of an answer have a second together, and no longer than the call has. The others of the answer count.
func TestBounded_slowErrors(t *testing.T) {
	t.Parallel()
	for _, limit := range []time.Duration{5 * time.Second, 700 * time.Millisecond} {
		testsync.Bubble(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			defer cancel()
			errs := append(slices.Repeat([]error{slowError{600 * time.Millisecond}}, 10), nil, ErrGone)
			began := time.Now()
			heard := heardAs(ctx, errs...)
			if took := time.Since(began); took > min(limit, time.Second) {
				t.Errorf("the call has taken %s of %s", took, limit)
			}
			if heard[10] != nil || heard[11] != ErrGone || heard[0].Error() != "late text" {
				t.Errorf("the store is heard to say %v", heard)
			}
			for _, err := range heard[1:10] {
				if !strings.Contains(err.Error(), "slowError") {
					t.Errorf("an error that was not in time is %v, want its type", err)
				}
			}
			time.Sleep(time.Minute) // until they have returned
		})
	}
}

// hangs is an error, and what a store panics with, that says nothing until it is released.
type hangs struct {
	release chan struct{}
	asked   *atomic.Int32
}

func (e hangs) Error() string { e.asked.Add(1); <-e.release; return "late text" }

type panicsWith struct {
	Store
	what any
}

func (s panicsWith) Start(context.Context, []Start) []error { panic(s.what) }

// A store whose errors hang is not asked for more and more of them. It is asked again when they have returned.
func TestBounded_errorsThatHang(t *testing.T) {
	t.Parallel()
	for name, store := range map[string]func(hangs) Store{
		"returns": func(e hangs) Store { return &saysErrors{errs: []error{e}} },
		"wraps":   func(e hangs) Store { return &saysErrors{errs: []error{&PartsError{Err: e}}} },
		"panics":  func(e hangs) Store { return panicsWith{what: e} },
	} {
		t.Run(name, func(t *testing.T) {
			testsync.Bubble(t, func(t *testing.T) {
				e := hangs{make(chan struct{}), new(atomic.Int32)}
				bounded := Bounded(store(e))
				start := func() string { return bounded.Start(t.Context(), make([]Start, 1))[0].Error() }
				began := time.Now()
				for range 100 {
					if text := start(); !strings.Contains(text, "jobs_test.hangs") {
						t.Fatalf("the error is %s, want its type", text)
					}
				}
				if n, took := e.asked.Load(), time.Since(began); n < 1 || n > 5 || took > 5*time.Second {
					t.Errorf("it was asked %d times, in %s; want a few times", n, took)
				}
				close(e.release)
				synctest.Wait()
				if text := start(); !strings.Contains(text, "late text") {
					t.Errorf("the error is %s when its methods return", text)
				}
			})
		})
	}
}

// These wrap themselves, or have no end.
type ringError struct{}

func (e *ringError) Error() string { return "ring" }
func (e *ringError) Unwrap() error { return e }

type chainError struct{ n int }

func (e chainError) Error() string { return "chain" }
func (e chainError) Unwrap() error { return chainError{e.n + 1} }

type treeError struct{}

func (e treeError) Error() string   { return "tree" }
func (e treeError) Unwrap() []error { return []error{e, e} }

func joinsItself() error {
	err := errors.Join(errFull, errFull)
	all := err.(interface{ Unwrap() []error }).Unwrap()
	all[0], all[1] = err, err
	return err
}

func partsOfItself() *PartsError {
	err := &PartsError{Of: 2}
	err.Err = err
	return err
}

// An error without end is one that says so.
func TestBounded_endlessErrors(t *testing.T) {
	t.Parallel()
	for name, err := range map[string]error{
		"ring":                   &ringError{},
		"wrapped ring":           fmt.Errorf("write: %w", &ringError{}),
		"chain":                  chainError{},
		"tree":                   treeError{},
		"join":                   joinsItself(),
		"wrapped join":           fmt.Errorf("%w, %w", errFull, joinOf(joinsItself())),
		"parts":                  partsOfItself(),
		"parts in another error": partsWithin{partsOfItself()},
	} {
		heard := heardAs(t.Context(), err)[0]
		if errors.Is(heard, ErrGone) || !strings.Contains(heard.Error(), "wraps itself") {
			t.Errorf("%s: the error is %.300v", name, heard)
		}
	}
}

// joinOf is an error of fmt.Errorf with another one in it, of which it has not taken the text.
func joinOf(err error) error {
	joined := fmt.Errorf("%w%w", errFull, errFull)
	joined.(interface{ Unwrap() []error }).Unwrap()[0] = err
	return joined
}

type partsWithin struct{ parts *PartsError }

func (e partsWithin) Error() string { return "some parts do not answer" }
func (e partsWithin) Unwrap() error { return e.parts }

type errorPanics struct{}

func (errorPanics) Error() string { panic("Error of the driver") }

// A PartsError in an error of a store has a cause whose methods can be called.
func TestBounded_partsInAnotherError(t *testing.T) {
	t.Parallel()
	heard := heardAs(t.Context(), partsWithin{&PartsError{Parts: []int{1}, Of: 2, Err: errorPanics{}}})[0]
	var parts *PartsError
	if !errors.As(heard, &parts) || !slices.Equal(parts.Parts, []int{1}) || parts.Of != 2 {
		t.Fatalf("errors.As finds %v in %v", parts, heard)
	}
	if text := parts.Error(); !strings.Contains(text, "errorPanics") {
		t.Errorf("its text is %s", text)
	}
}

// What a store has returned is its own: it may return it again, to several callers.
func TestBounded_leavesAnswersAlone(t *testing.T) {
	t.Parallel()
	why := &driverError{code: 53}
	store := &saysErrors{errs: []error{why}, view: []JobView{{Err: why}}}
	bounded := Bounded(store)
	for range 3 {
		view, err := bounded.Look(t.Context(), []string{"j"})
		if err != nil || !errors.Is(view.Jobs[0].Err, why) || !errors.Is(bounded.Start(t.Context(), make([]Start, 1))[0], why) {
			t.Errorf("the errors are %v, %v", view, err)
		}
	}
	if store.errs[0] != why || store.view[0].Err != why {
		t.Errorf("the answers of the store have become %#v and %#v", store.errs[0], store.view[0].Err)
	}
}

type longError struct{ text string }

func (e longError) Error() string { return e.text }

// Nobody reads a text of a megabyte, in Err or the log. What an error is, is known nevertheless.
func TestBounded_longTexts(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 1<<20)
	for name, err := range map[string]error{
		"own":     longError{long},
		"plain":   errors.New(long),
		"wrapped": fmt.Errorf("%s: %w", long, ErrGone),
		"parts":   &PartsError{Of: 2, Err: errors.New(long)},
		"join":    errors.Join(errFull, errors.New(long)),
	} {
		heard := heardAs(t.Context(), err)[0]
		if n := len(heard.Error()); n < MaxErrorText || n > MaxErrorText+200 {
			t.Errorf("%s: the text has %d bytes", name, n)
		}
		if errors.Is(heard, ErrGone) != (name == "wrapped") {
			t.Errorf("%s: errors.Is of ErrGone is %t", name, errors.Is(heard, ErrGone))
		}
	}
}

// Slow errors of some jobs do not hold up the others.
func TestScheduler_slowErrorsOfOthers(t *testing.T) {
	t.Parallel()
	for _, takes := range []time.Duration{900 * time.Millisecond, 30 * time.Second} {
		for _, call := range []string{"Claim", "Start", "Finish"} {
			t.Run(fmt.Sprint(call, " ", takes), func(t *testing.T) {
				t.Parallel()
				jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
					var runs atomic.Int64
					n := c.Node(Config{Store: &fussy{c.Store, func(what, job, _ string) error {
						if what == call && strings.HasPrefix(job, "bad") {
							return slowError{takes}
						}
						return nil
					}}, OnRun: func(r Run) {
						if r.Job == "good" && r.Started.Sub(r.Tick) < 3*time.Second {
							runs.Add(1)
						}
					}}, 0)
					for i := range 10 {
						n.MustAdd(Job{Name: fmt.Sprint("bad", i), Spec: eachSecond, Run: jobstest.Sleep(0)})
					}
					n.MustAdd(Job{Name: "good", Spec: eachSecond, Run: jobstest.Sleep(0)})
					n.Start()
					time.Sleep(2 * time.Minute)
					if n := runs.Load(); n < 115 {
						t.Errorf("%d runs on time in 120 s, want one each second", n)
					}
					c.Stop()
					time.Sleep(time.Hour) // until all errors have answered
				})
			})
		}
	}
}
