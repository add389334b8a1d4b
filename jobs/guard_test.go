package jobs_test

import (
	"context"
	"errors"
	"log/slog"
	"runtime"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	. "github.com/lockgen/lockgen/jobs"
	"github.com/lockgen/lockgen/jobs/jobstest"
)

type nilError struct{ text string }

func (e *nilError) Error() string { return e.text } // panics where e is nil

type funcError func() string

func (f funcError) Error() string { return f() }

type funcStringer func() string

func (f funcStringer) String() string { return f() }

// TestScheduler_poisonousErrors has jobs that return and throw what panics, ends its goroutine or blocks when it is
// looked at: each run is recorded with what can be said of it, and the node lives.
func TestScheduler_poisonousErrors(t *testing.T) {
	t.Parallel()
	jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
		release := make(chan struct{})
		block := func() string { <-release; return "late" }
		jobsByName := map[string]struct {
			run     func(context.Context) error
			outcome Outcome
			text    string
		}{
			"typed nil": {func(context.Context) error { var e *nilError; return e }, OutcomeError,
				"*jobs_test.nilError"},
			"error panics": {func(context.Context) error { return funcError(func() string { panic("boo") }) },
				OutcomeError, "boo"},
			"error panics so": {func(context.Context) error { return funcError(func() string { panic(funcStringer(block)) }) }, OutcomeError, "funcStringer"},
			"error goes":      {func(context.Context) error { return funcError(func() string { runtime.Goexit(); return "" }) }, OutcomeError, "Goexit"},
			"error blocks": {func(context.Context) error { return funcError(block) }, OutcomeError,
				"not returned"},
			"panic panics": {func(context.Context) error { panic(funcStringer(func() string { panic("boo") })) },
				OutcomePanic, "boo"},
			"panic blocks": {func(context.Context) error { panic(funcError(block)) }, OutcomePanic,
				"not returned"},
			"panic goes": {func(context.Context) error { panic(funcError(func() string { runtime.Goexit(); return "" })) }, OutcomePanic, "Goexit"},
			"panic in a panic": {func(context.Context) error { defer func() { panic("second") }(); panic("first") },
				OutcomePanic, "second"},
			"panic of nil": {func(context.Context) error { panic(nil) }, OutcomePanic, "nil"},
			"goes":         {func(context.Context) error { runtime.Goexit(); return nil }, OutcomeError, "Goexit"},
			"says nothing good": {func(context.Context) error {
				return errors.New("a\xffb" + strings.Repeat("ä",
					8<<10))
			}, OutcomeError, "(cut)"},
		}
		n := c.Node(Config{OnRun: func(r Run) {
			if r.Tick.Minute()%2 == 0 {
				runtime.Goexit()
			}
			panic(funcError(func() string { panic(r.Job) }))
		}}, 0)
		for name, j := range jobsByName {
			n.MustAdd(Job{Name: name, Spec: "* * * * *", Retries: 1, Run: j.run})
		}
		n.MustAdd(Job{Name: "good", Spec: "* * * * *", Run: jobstest.Sleep(time.Second)})
		n.Start()
		time.Sleep(3*time.Minute + 30*time.Second)
		close(release)
		for name, j := range jobsByName {
			runs := c.Recorded(name)
			if len(runs) != 6 {
				t.Errorf("%s: %d records, want two attempts at each of three ticks", name, len(runs))
				continue
			}
			if r := runs[0]; r.Outcome != j.outcome || !strings.Contains(r.Error, j.text) ||
				!utf8.ValidString(r.Error) {
				t.Errorf("%s: %s, %.200q; want %s, %q", name, r.Outcome, r.Error, j.outcome, j.text)
			}
		}
		if runs := c.Recorded("good"); len(runs) != 3 || runs[0].Outcome != OutcomeOK {
			t.Errorf("the good job: %+v, want three runs", runs)
		}
		c.Stop()
	})
}

// handler is a log handler.
type handler func(slog.Record) error

func (handler) Enabled(context.Context, slog.Level) bool        { return true }
func (h handler) Handle(_ context.Context, r slog.Record) error { return h(r) }
func (h handler) WithAttrs([]slog.Attr) slog.Handler            { return h }
func (h handler) WithGroup(string) slog.Handler                 { return h }

// TestScheduler_poisonousLogger has a log handler that panics, one that ends its goroutine, and one that blocks.
func TestScheduler_poisonousLogger(t *testing.T) {
	t.Parallel()
	jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
		release := make(chan struct{})
		for _, h := range []handler{
			func(slog.Record) error { panic("boo") },
			func(slog.Record) error { runtime.Goexit(); return nil },
			func(slog.Record) error { <-release; return nil },
		} {
			n := c.Node(Config{Logger: slog.New(h)}, 0)
			n.MustAdd(Job{Name: "j", Spec: "* * * * *",
				Run: func(context.Context) error { return errors.New("failed") }})
			n.Start()
			time.Sleep(3 * time.Minute)
			n.Stop()
		}
		close(release)
		if n := len(c.Recorded("j")); n < 8 {
			t.Errorf("%d records, want one a minute", n)
		}
	})
}

// schedule is a cron.Schedule.
type schedule func(time.Time) time.Time

func (s schedule) Next(t time.Time) time.Time { return s(t) }

// TestScheduler_poisonousSchedule has schedules that fail for five minutes: they alone have no ticks meanwhile.
func TestScheduler_poisonousSchedule(t *testing.T) {
	t.Parallel()
	jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
		release := make(chan struct{})
		good := time.Now().Add(5 * time.Minute)
		fails := map[string]func(){
			"panics": func() { panic("boo") },
			"goes":   func() { runtime.Goexit() },
			"blocks": func() { <-release },
		}
		n := c.Node(Config{}, 0)
		for name, fail := range fails {
			n.MustAdd(Job{Name: name, Run: jobstest.Sleep(0), Schedule: schedule(func(t time.Time) time.Time {
				if time.Now().Before(good) {
					fail()
				}
				return t.Truncate(time.Minute).Add(time.Minute)
			})})
		}
		n.MustAdd(Job{Name: "good", Spec: "* * * * *", Run: jobstest.Sleep(0)})
		n.Start()
		time.Sleep(5 * time.Minute)
		close(release)
		if n := len(c.Recorded("good")); n < 4 {
			t.Errorf("%d records of the good job while others fail, want one a minute", n)
		}
		time.Sleep(5 * time.Minute)
		for name := range fails {
			if n := len(c.Finished(name)); n < 3 {
				t.Errorf("%s: %d records once the schedule answers, want one a minute", name, n)
			}
		}
		c.Stop()
	})
}
