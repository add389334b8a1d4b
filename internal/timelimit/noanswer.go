package timelimit

import (
	"context"
	"errors"
	"strings"
	"time"
)

// ErrNoAnswer is what each error of Explain is that stands for a store without an answer. As the cause of a context it
// stands for a limit that is not the caller's.
var ErrNoAnswer = errors.New("the store did not answer in time")

// Explain is the error of a failed call as the caller gets it. Only where ctx, the caller's own, has ended it says so:
// the limits of a store and of its client look like that. Else it says for how long there was no answer since the call
// began, and why, if that is known.
func Explain(ctx context.Context, began time.Time, err error) error {
	if err == nil {
		return nil
	}
	if over := Ended(ctx); over != nil {
		if errors.Is(err, over) {
			return err
		}
		return errors.Join(over, err)
	}
	if _, done := errors.AsType[noAnswerError](err); done {
		return err
	}
	if isContext(err) || errors.Is(err, ErrNoAnswer) {
		return noAnswerError{err, time.Since(began)}
	}
	return err
}

func isContext(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}

// Roughly is a length of time as people like to read it.
func Roughly(d time.Duration) time.Duration {
	if d < time.Second {
		return d.Round(time.Millisecond)
	}
	return d.Round(time.Second / 10)
}

// noAnswerError hides from errors.Is that its error is one of a context.
type noAnswerError struct {
	err  error
	took time.Duration
}

func (e noAnswerError) Error() string {
	text := "the store did not answer within " + Roughly(e.took).String()
	if why := reasons(e.err.Error()); why != "" {
		text += ": " + why
	}
	return text
}

// reasons is what an error says besides that a time is over. It may have several lines, one for each server.
func reasons(text string) string {
	var all []string
	for line := range strings.SplitSeq(text, "\n") {
		for _, over := range []error{context.DeadlineExceeded, context.Canceled, ErrNoAnswer} {
			line = strings.TrimSuffix(strings.TrimSuffix(line, over.Error()), ": ")
		}
		if line != "" {
			all = append(all, line)
		}
	}
	return strings.Join(all, "\n")
}

// Is and As stand in for Unwrap.
func (e noAnswerError) Is(target error) bool {
	return target == ErrNoAnswer ||
		target != context.DeadlineExceeded && target != context.Canceled && errors.Is(e.err, target)
}

// As implements the interface of errors.As.
func (e noAnswerError) As(target any) bool { return errors.As(e.err, target) }
