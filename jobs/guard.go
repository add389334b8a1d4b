package jobs

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/robfig/cron/v3"
)

// guardTime is how long a method of a user's value may take that is to return at once: Error, String, Next, a log
// handler.
const guardTime = time.Second

// guard calls f, which runs code of the user, so that it can neither end the process nor hold up the caller. failure
// says what went wrong: it panicked, called runtime.Goexit, or has not returned within guardTime; its goroutine stays
// behind then, until it does.
func guard[T any](f func() T) (v T, failure string) {
	return guardCounting(new(atomic.Int32), f)
}

// guardCounting is guard, and counts in stuck the calls that have not returned in time and have not returned since.
func guardCounting[T any](stuck *atomic.Int32, f func() T) (v T, failure string) {
	return guardWithin(guardTime, stuck, f)
}

// guardWithin is guardCounting with another limit than guardTime.
func guardWithin[T any](limit time.Duration, stuck *atomic.Int32, f func() T) (v T, failure string) {
	type result struct {
		v        T
		panicked any
		returned bool
	}
	done := make(chan result, 1)
	var judged atomic.Bool // whether f was in time
	go func() {
		var r result
		defer func() {
			if !r.returned {
				r.panicked = recover()
			}
			if !judged.CompareAndSwap(false, true) {
				stuck.Add(-1)
			}
			done <- r
		}()
		r.v = f()
		r.returned = true
	}()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	var r result
	select {
	case r = <-done:
	case <-timer.C:
		stuck.Add(1) // before it is judged late, so that the goroutine takes away what is there
		if judged.CompareAndSwap(false, true) {
			return v, "it has not returned within " + limit.Round(time.Millisecond).String()
		}
		stuck.Add(-1)
		r = <-done
	}
	switch {
	case r.returned:
		return r.v, ""
	case r.panicked == nil:
		return v, "it called runtime.Goexit"
	}
	return v, "it panicked: " + cut(plainText(r.panicked), 200)
}

// errorText is the text of an error of the user.
func errorText(err error) string {
	text, failure := guard(err.Error)
	if failure != "" {
		return fmt.Sprintf("an error of type %T, whose Error method fails: %s", err, failure)
	}
	return text
}

// panicText is the text of a value that the user's code panicked with.
func panicText(p any) string {
	text, failure := guard(func() string { return fmt.Sprintf("%v", p) })
	if failure != "" {
		return fmt.Sprintf("a value of type %T, which cannot be shown: %s", p, failure)
	}
	return text
}

// plainText is the text of a value as far as none of the user's methods is needed for it.
func plainText(p any) string {
	switch p := p.(type) {
	case string:
		return p
	case runtime.Error:
		return p.Error()
	}
	return fmt.Sprintf("a value of type %T", p)
}

// guardedHandler is a log handler that can neither end the process nor hold up the scheduler: what it cannot handle in
// time is dropped, and so is all that follows until it returns.
type guardedHandler struct {
	slog.Handler
	stuck *atomic.Int32
}

func guardLogger(l *slog.Logger) *slog.Logger {
	return slog.New(guardedHandler{l.Handler(), new(atomic.Int32)})
}

func (h guardedHandler) Enabled(ctx context.Context, level slog.Level) (yes bool) {
	defer func() { _ = recover() }() // then it is not
	return h.Handler.Enabled(ctx, level)
}

func (h guardedHandler) Handle(ctx context.Context, r slog.Record) error {
	if h.stuck.Load() > 0 {
		return nil
	}
	err, _ := guardCounting(h.stuck, func() error { return h.Handler.Handle(ctx, r) })
	return err
}

func (h guardedHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return guardedHandler{h.Handler.WithAttrs(attrs), h.stuck}
}

func (h guardedHandler) WithGroup(name string) slog.Handler {
	return guardedHandler{h.Handler.WithGroup(name), h.stuck}
}

// guardedSchedule is a schedule of the user.
type guardedSchedule struct {
	inner  cron.Schedule
	stuck  atomic.Int32
	failed atomic.Pointer[string] // what went wrong when it was asked last; nil: nothing
}

func guardSchedule(s cron.Schedule) cron.Schedule {
	switch s.(type) {
	case *cron.SpecSchedule, cron.ConstantDelaySchedule:
		return s // known to be harmless
	}
	return &guardedSchedule{inner: s}
}

// Next returns the zero time if the schedule fails. To the caller there are then no more ticks.
func (g *guardedSchedule) Next(t time.Time) time.Time {
	if g.stuck.Load() > 0 {
		return time.Time{}
	}
	next, failure := guardCounting(&g.stuck, func() time.Time { return g.inner.Next(t) })
	if failure == "" {
		g.failed.Store(nil)
		return next
	}
	g.failed.Store(&failure)
	return time.Time{}
}

// failureOf says what is wrong with a schedule, "" if nothing is.
func failureOf(s cron.Schedule) string {
	if g, guarded := s.(*guardedSchedule); guarded {
		if why := g.failed.Load(); why != nil {
			return *why
		}
	}
	return ""
}
