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
	panic    any
	stack    string
	cause    error // why its context had ended, nil if it had not
	timeout  time.Duration
}

var errTimeout = errors.New("the timeout is over")

// invoke calls the work of a run. It does so in a goroutine of its own, which it waits for: runtime.Goexit ends that
// one only.
func invoke(ctx context.Context, work func(context.Context) error, timeout time.Duration) (res result) {
	if timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, timeout, errTimeout)
		defer cancel()
	}
	res.timeout = timeout
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			if p := recover(); p != nil {
				res.panicked, res.panic, res.stack = true, p, string(debug.Stack())
			}
		}()
		res.err = work(ctx)
		res.returned = true
	}()
	<-done
	res.cause = context.Cause(ctx)
	return res
}

// classify names the outcome. lost is the error of the lock's release, nil if it had been held to the end. The order
// is by what the reader of a record must know most.
func (r *result) classify(lost error) ending {
	var cancelled *cancelledError
	switch {
	case r.panicked && lost != nil:
		return ending{outcome: OutcomePanic, reason: "and the lock was lost: " + lost.Error()}
	case r.panicked:
		return ending{outcome: OutcomePanic}
	case lost != nil && replacement(lost) != "":
		return ending{outcome: OutcomeCancelled, reason: replacement(lost), final: true}
	case lost != nil:
		return ending{outcome: OutcomeLost, reason: lost.Error()}
	case errors.Is(r.cause, lockrt.ErrLost), errors.Is(r.cause, errTakenOver):
		return ending{outcome: OutcomeLost, reason: r.cause.Error()}
	case !r.returned:
		return ending{outcome: OutcomeError}
	case errors.As(r.cause, &cancelled): // whatever it returned: who looks for it must find who cancelled it
		return ending{outcome: OutcomeCancelled, reason: cancelled.Error(), final: true}
	case r.err == nil:
		return ending{outcome: OutcomeOK}
	case errors.Is(r.cause, errTimeout):
		return ending{outcome: OutcomeTimeout, reason: fmt.Sprintf("it took longer than Timeout %s", r.timeout)}
	case errors.Is(r.cause, errDrained):
		return ending{outcome: OutcomeCancelled, reason: errDrained.Error()}
	}
	return ending{outcome: OutcomeError}
}

// text is what a record keeps of how the work ended. The methods of what the user returned or panicked with are called
// with care: what they do is not to reach anything but this run.
func (r *result) text() string {
	text := ""
	switch {
	case r.panicked:
		text = panicText(r.panic) + "\n\n" + r.stack
	case !r.returned:
		text = "Job.Run called runtime.Goexit (t.FailNow does, for example) instead of returning"
	case r.err != nil:
		text = errorText(r.err)
	}
	return plainLines(text, maxErrorText)
}
