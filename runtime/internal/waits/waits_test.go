package waits_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/internal/waits"
)

var (
	errDown = errors.New("down")
	errMade = errors.New("wrong")
	busy    = &lockrt.BusyError{Key: "k", Holder: "node"}
)

func TestState_Over_endOfTheTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := waits.Begin(t.Context(), lockrt.Request{Wait: time.Second})
		over, stop := s.Budget()
		defer stop()
		first, short := s.Left(time.Hour), s.Left(time.Millisecond)
		if s.Over() || s.Endless || first != time.Second+waits.Grace || short != time.Millisecond {
			t.Errorf("at the beginning: %+v, first %s and %s", s, first, short)
		}
		time.Sleep(900 * time.Millisecond)
		if left := s.Left(time.Hour); left != 100*time.Millisecond+waits.Grace {
			t.Errorf("later: %s are left", left)
		}
		<-over
		time.Sleep(time.Minute)
		if left := s.Left(time.Hour); !s.Over() || left != waits.Grace {
			t.Errorf("it is over: %t, %s are left", s.Over(), left)
		}
	})
}

func TestBegin_forever(t *testing.T) {
	req := lockrt.Request{Wait: lockrt.Forever}
	s := waits.Begin(context.Background(), req)
	over, stop := s.Budget()
	stop()
	if s.Over() || !s.Endless || over != nil || s.Left(time.Hour) != time.Hour {
		t.Errorf("a wait without end: %+v, first %s", s, s.Left(time.Hour))
	}
	if s := waits.Begin(t.Context(), req); s.Endless {
		t.Error("a wait that the caller can end counts as endless")
	}
}

func TestState_Outcome_lastWord(t *testing.T) {
	var told []error
	s := waits.State{Req: lockrt.Request{Told: func(b *lockrt.BusyError, _ error) { told = append(told, b) }}}
	want := func(when string, want, err error) {
		t.Helper()
		if got := s.Outcome(err); got != want {
			t.Errorf("%s: %v, want %v", when, got, want)
		}
	}
	want("no word", waits.ErrTooLate, nil)
	want("an error of its own", errMade, errMade)
	s.Heard(busy)
	s.Heard(nil)
	want("a busy lock", busy, errMade)
	s.Unheard(errDown, time.Now(), time.Hour)
	want("a silent server", errDown, errMade)
	s.Heard(nil)
	want("a server that is back", busy, nil)
	if len(told) != 1 || told[0] != error(busy) {
		t.Errorf("the Locker was told %v", told)
	}
}

func TestState_Unheard_patience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, endless := range []bool{false, true} {
			s := waits.State{Endless: endless}
			asked := time.Now()
			time.Sleep(time.Second)
			if s.Unheard(errDown, asked, 2*time.Second) {
				t.Error("it gave up before the end of its patience")
			}
			time.Sleep(time.Second)
			if got := s.Unheard(errDown, time.Now(), 2*time.Second); got != endless {
				t.Errorf("endless %t: it gives up %t", endless, got)
			}
			s.Heard(nil)
			if s.Unheard(errDown, time.Now(), 2*time.Second) {
				t.Error("an answer did not begin its patience anew")
			}
		}
	})
}

func TestState_End_reasons(t *testing.T) {
	live := t.Context()
	gone, cancel := context.WithCancel(live)
	cancel()
	because := func(err error) context.Context {
		ctx, end := context.WithCancelCause(live)
		end(err)
		return ctx
	}
	expired := waits.State{Until: time.Now().Add(-time.Second)}
	for _, c := range []struct {
		name       string
		state      waits.State
		ctx, inner context.Context
		want       []error
		kept       bool
	}{
		{"an error", waits.State{}, live, live, []error{errMade}, false},
		{"the end of the time", expired, live, live, []error{errMade}, true},
		{"the caller's end", waits.State{Busy: busy}, gone, gone, []error{context.Canceled, busy}, true},
		{"the session's", expired, live, because(lockrt.ErrClosed), []error{lockrt.ErrClosed}, false},
		{"a broken lease", expired, live, because(errDown), []error{lockrt.ErrLost, errDown}, false},
	} {
		got, kept := c.state.End(c.ctx, c.inner, errMade)
		if kept != c.kept {
			t.Errorf("%s: the place is kept %t, want %t", c.name, kept, c.kept)
		}
		for _, want := range c.want {
			if !errors.Is(got, want) {
				t.Errorf("%s: %v, want %v", c.name, got, want)
			}
		}
	}
	s := waits.State{}
	if got, _ := s.End(gone, gone, errMade); errors.Is(got, waits.ErrTooLate) || errors.Is(got, errMade) {
		t.Errorf("the end of a caller who was told nothing: %v", got)
	}
	// The caller's context ends while that is looked into.
	late, end := context.WithCancel(live)
	if got, _ := s.End(endsWhenAsked{late, end}, late, errMade); errors.Is(got, lockrt.ErrLost) {
		t.Errorf("the end of a caller in the same moment: %v", got)
	}
}

// endsWhenAsked ends just behind an answer that it lives.
type endsWhenAsked struct {
	context.Context
	end func()
}

func (c endsWhenAsked) Err() error {
	err := c.Context.Err()
	c.end()
	return err
}

func TestState_Again_untilAnAnswer(t *testing.T) {
	rules := waits.Rules{
		Pause: 50 * time.Millisecond, Patience: 5 * time.Second,
		Retryable: func(err error) bool { return errors.Is(err, errDown) },
		Explain:   func(_ context.Context, _ time.Time, err error) error { return err },
	}
	synctest.Test(t, func(t *testing.T) {
		var told int
		req := lockrt.Request{Wait: lockrt.Forever, Told: func(*lockrt.BusyError, error) { told++ }}
		s := waits.Begin(t.Context(), req)
		looks := 0
		err := s.Again(t.Context(), &rules, func(context.Context) error {
			if looks++; looks < 4 {
				return errDown
			}
			return nil
		})
		if err != nil || looks != 4 || told != 3 {
			t.Errorf("a server that comes back: %v after %d looks, told %d times", err, looks, told)
		}
		if err := s.Again(t.Context(), &rules, func(context.Context) error { return errMade }); err != errMade {
			t.Errorf("another error: %v", err)
		}
		down := func(context.Context) error { return errDown }
		began := time.Now()
		s = waits.Begin(t.Context(), lockrt.Request{Wait: time.Second})
		if err := s.Again(t.Context(), &rules, down); err != errDown || time.Since(began) != time.Second && !s.Over() {
			t.Errorf("the end of the time: %v after %s", err, time.Since(began))
		}
		began = time.Now()
		s = waits.Begin(context.Background(), req)
		err = s.Again(t.Context(), &rules, down)
		if took := time.Since(began); err != errDown || took < rules.Patience || took > rules.Patience+2*time.Second {
			t.Errorf("a wait without end: %v after %s", err, took)
		}
	})
}

func TestCurrent_leaseLength(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, req := lockrt.Grant{Start: time.Now()}, lockrt.Request{TTL: 2 * time.Second}
		time.Sleep(time.Second)
		if !waits.Current(g, req) {
			t.Error("a lease counts as over at half of its time")
		}
		if g.TTL = time.Second; waits.Current(g, req) {
			t.Error("a lease that the store made shorter counts as in force after its end")
		}
	})
}
