package jobs_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/lockgen/lockgen/jobs"
	"github.com/lockgen/lockgen/jobs/jobstest"
)

// brokenStore breaks the contract of a Store in one call, as long as it is told to.
type brokenStore struct {
	Store
	breaks atomic.Bool
	call   string
	how    func() error // nil: the answer is one element short
}

// broken makes the store fail in a call. It reports whether the answer is to be one element short.
func (s *brokenStore) broken(call string) (yes bool, err error) {
	switch {
	case !s.breaks.Load() || s.call != call:
		return false, nil
	case s.how == nil:
		return true, nil
	}
	return false, s.how()
}

// The methods of these errors fail.
type nilPointer struct{ text string }

func (e *nilPointer) Error() string { return e.text }

type isPanics struct{}

func (isPanics) Error() string { return "what the job store says" }

func (isPanics) Is(error) bool { panic("Is of the driver") }

// moody panics when it is asked often. Asked for a *CancelledError it sets nothing then.
type moody struct {
	cause error
	n     *atomic.Int32
}

func (e moody) often() bool { return e.n.Add(1) > 12 }

func (e moody) Error() string {
	if e.often() {
		panic("Error of the driver")
	}
	return "what the job store says: " + e.cause.Error()
}

func (e moody) Is(target error) bool {
	if e.often() {
		panic("Is of the driver")
	}
	return target == e.cause
}

func (e moody) As(target any) bool {
	_, cancelled := target.(**CancelledError)
	return e.often() && cancelled
}

var moods atomic.Int32

type exits struct{}

func (exits) Error() string { runtime.Goexit(); return "" }

// A typed nil pointer in an error, and an As method that sets nothing, are what errors.As finds.
type wrapsNil[E error] struct{ cause E }

func (*wrapsNil[E]) Error() string { return "the write has failed" }

func (e *wrapsNil[E]) Unwrap() error { return e.cause }

type isAnything struct{}

func (isAnything) Error() string { return "the write has failed" }

func (isAnything) As(any) bool { return true }

func short[T any](all []T, yes bool) []T {
	if yes {
		return all[:len(all)-1]
	}
	return all
}

func (s *brokenStore) Claim(ctx context.Context, claims []Claim) []Claimed {
	switch yes, err := s.broken("Claim"); {
	case err != nil:
		return slices.Repeat([]Claimed{{Err: err}}, len(claims))
	case yes:
		return make([]Claimed, len(claims)-1)
	}
	return s.Store.Claim(ctx, claims)
}

func (s *brokenStore) Start(ctx context.Context, starts []Start) []error {
	yes, err := s.broken("Start")
	if err != nil {
		return slices.Repeat([]error{err}, len(starts))
	}
	return short(s.Store.Start(ctx, starts), yes)
}

func (s *brokenStore) Finish(ctx context.Context, finishes []Finish) []error {
	yes, err := s.broken("Finish")
	if err != nil {
		return slices.Repeat([]error{err}, len(finishes))
	}
	return short(s.Store.Finish(ctx, finishes), yes)
}

func (s *brokenStore) Look(ctx context.Context, jobs []string) (View, error) {
	yes, err := s.broken("Look")
	if err != nil {
		return View{}, err
	}
	view, err := s.Store.Look(ctx, jobs)
	view.Jobs = short(view.Jobs, yes)
	return view, err
}

func (s *brokenStore) Register(ctx context.Context, r Registration) (View, error) {
	yes, err := s.broken("Register")
	if err != nil {
		return View{}, err
	}
	view, err := s.Store.Register(ctx, r)
	view.Jobs = short(view.Jobs, yes)
	return view, err
}

func (s *brokenStore) Heartbeat(ctx context.Context, b Heartbeat) (HeartbeatReply, error) {
	if _, err := s.broken("Heartbeat"); err != nil {
		return HeartbeatReply{}, err
	}
	return s.Store.Heartbeat(ctx, b)
}

// A store that panics, ends its goroutine, leaves out answers or returns an error that cannot be read has failed: Err says
// so, the process goes on, and no tick is lost.
func TestScheduler_brokenStore(t *testing.T) {
	t.Parallel()
	for how, f := range map[string]func() error{
		"panics":       func() error { panic("index out of range in the driver") },
		"exits":        func() error { runtime.Goexit(); return nil },
		"leaves out":   nil,
		"nil pointer":  func() error { var e *nilPointer; return e },
		"Is panics":    func() error { return isPanics{} },
		"nil parts":    func() error { var e *PartsError; return e },
		"method exits": func() error { return exits{} },
		"wraps nil":    func() error { return &wrapsNil[*CancelledError]{} },
		"nil of parts": func() error { return &wrapsNil[*PartsError]{} },
		"As is true":   func() error { return isAnything{} },
		"moody":        func() error { return moody{errFull, new(atomic.Int32)} },
		"always moody": func() error { return moody{errFull, &moods} },
	} {
		for _, call := range []string{"Claim", "Start", "Finish", "Look", "Register", "Heartbeat"} {
			if call == "Heartbeat" && f == nil {
				continue // it answers for no elements
			}
			t.Run(call+" "+how, func(t *testing.T) {
				t.Parallel()
				jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
					store := &brokenStore{Store: c.Store, call: call, how: f}
					n := c.Node(Config{Store: store}, 0)
					for i := range 3 {
						n.MustAdd(Job{Name: fmt.Sprint("job", i), Spec: "*/10 * * * * *", Misfire: MisfireAll, Run: jobstest.Sleep(0)})
					}
					store.breaks.Store(call == "Register")
					n.Start()
					time.Sleep(25 * time.Second)
					store.breaks.Store(true)
					time.Sleep(25 * time.Second)
					switch err := n.Err(); {
					case call == "Look": // nobody has asked for it
					case err == nil || !strings.Contains(err.Error(), "the job store"):
						t.Errorf("Err = %v, want what the store has done", err)
					}
					store.breaks.Store(false)
					time.Sleep(5 * time.Minute)
					if err := n.Err(); err != nil {
						t.Errorf("Err = %v when the store works again", err)
					}
					c.Stop()
					for i := range 3 {
						name := fmt.Sprint("job", i)
						if runs := len(c.Finished(name)); runs < 28 {
							t.Errorf("%d runs of %s in 350 s, want one each 10 s", runs, name)
						}
					}
				})
			})
		}
	}
}

// What a driver has said is still found in the errors of this package, as long as its methods work.
func TestScheduler_Err_ofTheDriver(t *testing.T) {
	t.Parallel()
	jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
		why := &driverError{code: 53}
		store := &halfDown{Store: c.Store, why: fmt.Errorf("write: %w", why), only: "Claim Start Finish"}
		n := c.Node(Config{Store: store}, 0)
		n.MustAdd(Job{Name: "j", Spec: "* * * * * *", Run: jobstest.Sleep(0)})
		n.Start()
		time.Sleep(5 * time.Second)
		store.down.Store(true)
		time.Sleep(25 * time.Second)
		err := n.Err()
		var found *driverError
		if !errors.As(err, &found) || found != why || !errors.Is(err, why) || errors.Is(err, errFull) {
			t.Errorf("Err = %v, in which errors.As finds %v, want %v", err, found, why)
		}
		var cancelled *CancelledError
		var timeout interface{ Timeout() bool }
		if errors.As(err, &cancelled) || errors.As(err, &timeout) {
			t.Errorf("errors.As finds %v and %v in %v", cancelled, timeout, err)
		}
		store.down.Store(false)
		c.Stop()
	})
}

type driverError struct{ code int }

func (e *driverError) Error() string { return fmt.Sprint("error ", e.code) }
