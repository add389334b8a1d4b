package jobs

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	lockrt "github.com/lockgen/lockgen/runtime"
)

// result is how Job.Run ended.
type result struct {
	err      error
	returned bool // false: it called runtime.Goexit, or panicked
	panicked bool
	panic    string
	cause    error // why its context had ended, nil if it had not
	timeout  time.Duration
}

var errTimeout = errors.New("the timeout is over")

// call calls Job.Run. It does so in a goroutine of its own, which it waits for: runtime.Goexit ends that one only.
func call(ctx context.Context, j Job) (res result) {
	if j.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, j.Timeout, errTimeout)
		defer cancel()
	}
	res.timeout = j.Timeout
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			if p := recover(); p != nil {
				res.panicked = true
				res.panic = fmt.Sprintf("%v\n\n%s", p, debug.Stack())
			}
		}()
		res.err = j.Run(ctx)
		res.returned = true
	}()
	<-done
	res.cause = context.Cause(ctx)
	return res
}

// classify names the outcome. lost is the error of the lock's release, nil if it had been held to the end. The order
// is by what the reader of a record must know most.
func (r *result) classify(lost error) (Outcome, string) {
	switch {
	case r.panicked && lost != nil:
		return OutcomePanic, "and the lock was lost: " + lost.Error()
	case r.panicked:
		return OutcomePanic, ""
	case lost != nil:
		return OutcomeLost, lost.Error()
	case errors.Is(r.cause, lockrt.ErrLost), errors.Is(r.cause, errTakenOver):
		return OutcomeLost, r.cause.Error()
	case !r.returned:
		return OutcomeError, ""
	case r.err == nil:
		return OutcomeOK, ""
	case errors.Is(r.cause, errTimeout):
		return OutcomeTimeout, fmt.Sprintf("it took longer than Timeout %s", r.timeout)
	case errors.Is(r.cause, errDrained):
		return OutcomeCancelled, errDrained.Error()
	}
	return OutcomeError, ""
}

// maxErrorText bounds what a record keeps of an error or a stack.
const maxErrorText = 8 << 10

func (r *result) text() string {
	text := ""
	switch {
	case r.panicked:
		text = r.panic
	case !r.returned:
		text = "Job.Run called runtime.Goexit (t.FailNow does, for example) instead of returning"
	case r.err != nil:
		text = r.err.Error()
	}
	if len(text) > maxErrorText {
		text = text[:maxErrorText] + " … (cut)"
	}
	return text
}
