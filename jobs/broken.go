package jobs

import (
	"cmp"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	lockrt "github.com/lockgen/lockgen/runtime"
)

// This file keeps what a store must not do from ending the process: a call that panics has failed, and so has one that
// does not answer for each element of what it was given, or whose answer cannot be. The methods of the errors that it
// returns can be called, and an error that this package looks for in them is not nil.

// broken is the error of a call that has not returned.
func broken(panicked any) error {
	if panicked == nil {
		return errors.New("the job store has ended the goroutine of the call (runtime.Goexit)")
	}
	return fmt.Errorf("the job store panicked: %s\n%s", cut(panicText(panicked), 200), cut(string(debug.Stack()), 2000))
}

// sound puts another error in the place of each whose methods fail.
func sound(errs ...*error) { soundOf("job store", errs) }

// soundOf is sound for the errors of a store.
func soundOf(store string, errs []*error) {
	if !slices.ContainsFunc(errs, func(err *error) bool { return *err != nil }) || failureOfMethods(errs) == "" {
		return
	}
	for _, err := range errs {
		if why := failureOfMethods([]*error{err}); why != "" {
			*err = fmt.Errorf("the %s has returned an error of type %T, whose methods fail: %s", store, *err, why)
		}
	}
}

// soundLock is sound for an error of the locks.
func soundLock(err error) error {
	if err == nil {
		return nil
	}
	own := err // so that err need not be allocated
	soundOf("store of locks", []*error{&own})
	return own
}

// failureOfMethods calls the methods of errors.
func failureOfMethods(errs []*error) string {
	found, failure := guard(func() string {
		for _, err := range errs {
			if *err == nil {
				continue
			}
			_, _ = (*err).Error(), errors.Is(*err, errNobodys)
			if found := cmp.Or(
				emptyIn[*CancelledError](*err), emptyIn[*PartsError](*err), emptyIn[*lockrt.BusyError](*err),
				emptyIn[*nobodysError](*err),
			); found != "" {
				return found
			}
		}
		return ""
	})
	return cmp.Or(failure, found)
}

// emptyIn says that errors.As finds a nil E in err, "" if it does not. A struct that wraps a nil pointer is an easy
// mistake, and so is an As method that answers true and sets nothing: who trusts errors.As would end the process.
func emptyIn[E interface {
	comparable
	error
}](err error) string {
	var found, none E
	if errors.As(err, &found) && found == none {
		return fmt.Sprintf("errors.As finds a %T in it that is nil", none)
	}
	return ""
}

// errNobodys and nobodysError are in no error.
var errNobodys error = new(nobodysError)

type nobodysError struct{}

func (*nobodysError) Error() string { return "" }

// incomplete is the error of a call that has not answered for each element of what it was given; nil if it has.
func incomplete(answers, elements int) error {
	if answers == elements {
		return nil
	}
	return fmt.Errorf("the job store has given %d answers for %d elements", answers, elements)
}

// errNoTime is the error of an answer without the store's time. The clock of a part would jump to the year 1.
var errNoTime = errors.New("the job store has not said what time it is")

// timed is the error of an answer with this time of the store; nil if it has one.
func timed(now time.Time) error {
	if now.IsZero() {
		return errNoTime
	}
	return nil
}

// sound is incomplete and timed for a view, and sound for its errors.
func (v View) sound(jobs int) error {
	errs := make([]*error, len(v.Jobs))
	for i := range v.Jobs {
		errs[i] = &v.Jobs[i].Err
	}
	sound(errs...)
	return cmp.Or(incomplete(len(v.Jobs), jobs), timed(v.Now))
}

// sound makes an answer to a claim that there is not into an error.
func (c *Claimed) sound() {
	switch {
	case c.Err != nil:
		return
	case c.Status < ClaimWon || c.Status > ClaimUnknown:
		c.Err = fmt.Errorf("the job store has answered a claim with status %d, which there is not", c.Status)
	default:
		c.Err = timed(c.Now)
	}
	if c.Err != nil {
		*c = Claimed{Err: c.Err}
	}
}

// soundEnds makes those answers to finishes into errors that the finishes cannot have. A success without another attempt
// ends a run that was completed in a transaction, too.
func soundEnds(finishes []Finish, errs []error) []error {
	for i, f := range finishes {
		if f.Run.Outcome == OutcomeOK && f.Next == nil && errors.Is(errs[i], ErrCompleted) {
			errs[i] = fmt.Errorf("the job store does not end a run that was completed, although this is what it was "+
				"asked for: %v", errs[i])
		}
	}
	return errs
}
