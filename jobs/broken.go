package jobs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"time"
)

// This file keeps what a store must not do from ending the process: a call that panics has failed, and so has one that
// does not answer for each element of what it was given, or whose answer cannot be. The methods of the errors that it
// returns can be called, now and later, and an error that this package looks for in them is not nil.

// broken is the error of a call that has not returned.
func (s boundedStore) broken(panicked any) error {
	if panicked == nil {
		return errors.New("the job store has ended the goroutine of the call (runtime.Goexit)")
	}
	text, failure := ask(s.errors, guardTime, func() string { return fmt.Sprintf("%v", panicked) })
	if failure != "" {
		text = fmt.Sprintf("a value of type %T, which cannot be shown: %s", panicked, failure)
	}
	return fmt.Errorf("the job store panicked: %s\n%s", cut(text, 200), cut(string(debug.Stack()), 2000))
}

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

// soundView is an answer whose errors are sound. A view that is incomplete or has no time is an error.
func (s boundedStore) soundView(ctx context.Context, v View, err error, jobs int) (View, error) {
	v.Jobs = slices.Clone(v.Jobs) // they are the store's
	errs := []*error{&err}
	for i := range v.Jobs {
		errs = append(errs, &v.Jobs[i].Err)
	}
	s.errors.sound(ctx, errs...)
	return v, cmp.Or(err, incomplete(len(v.Jobs), jobs), timed(v.Now))
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
