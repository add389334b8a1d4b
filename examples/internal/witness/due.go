package witness

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Job is what the witness knows of a job: its name and its spec.
type Job struct{ Name, Spec string }

// Window is the time in which ticks are counted: after Open, up to and
// including Close, on the store's clock.
type Window struct{ Open, Close time.Time }

// period understands the only specs the example uses, "* * * * * *" and
// "*/n * * * * *", and only where n divides the minute, so that a tick is a
// second that n divides. It shares nothing with the scheduler's parser.
func period(spec string) (int64, error) {
	seconds, ok := strings.CutSuffix(spec, " * * * * *")
	if ok && seconds == "*" {
		return 1, nil
	}
	if text, step := strings.CutPrefix(seconds, "*/"); ok && step {
		if n, err := strconv.ParseInt(text, 10, 64); err == nil && n > 0 && 60%n == 0 {
			return n, nil
		}
	}
	return 0, fmt.Errorf("witness: cannot tell when %q is due: give the job a spec like %q with a step that divides 60",
		spec, "*/5 * * * * *")
}

// Due lists the ticks of the job in the window. The error says that its spec is not understood.
func (j Job) Due(w Window) ([]time.Time, error) { return due(j.Spec, w) }

func due(spec string, w Window) ([]time.Time, error) {
	n, err := period(spec)
	if err != nil {
		return nil, err
	}
	var ticks []time.Time
	last := w.Close.Unix()
	for t := w.Open.Unix() - w.Open.Unix()%n; t <= last; t += n {
		if tick := time.Unix(t, 0); tick.After(w.Open) {
			ticks = append(ticks, tick)
		}
	}
	return ticks, nil
}
